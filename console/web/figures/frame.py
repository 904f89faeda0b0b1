"""What all time charts share: fonts, margins, the window's axis, words on empty charts, event markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from console.web.palette import FONT, Palette

CONFIG = {"displayModeBar": False, "responsive": True}
"""Plotly's configuration of every chart."""
HEIGHT = 300
_LINE = 18
"""Pixels of one line under the axis."""
_NEAR_AN_END = 0.08
_TWO_LINES = pd.Timedelta(hours=12)
"""Windows from here on have the day under the hour."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a word under the axis, a dotted line through the chart."""

    at: pd.Timestamp
    word: str


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The window that all charts of a page show, and its events."""

    start: pd.Timestamp
    end: pd.Timestamp
    events: Sequence[Event] = ()

    @property
    def lines(self) -> int:
        """Lines of text under the axis, those of the events not counted."""
        return 2 if self.end - self.start >= _TWO_LINES else 1


def time_figure(question: str, axis: TimeAxis, palette: Palette, height: int = HEIGHT) -> go.Figure:
    """An empty chart over the window; its title is the question that it answers."""
    figure = go.Figure()
    below = _LINE * (axis.lines + bool(axis.events))
    figure.update_layout(
        template="none",
        title={"text": f"<b>{question}</b>", "x": 0, "y": 0.985, "yanchor": "top", "font_size": 16},
        font={"family": FONT, "size": 13, "color": palette.text},
        height=height + below,
        margin={"l": 58, "r": 8, "t": 56, "b": 10 + below},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="x unified",
        hoverlabel={"bgcolor": palette.raised, "bordercolor": palette.border, "font_color": palette.text},
        legend={
            "orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "traceorder": "normal",
            "font_color": palette.muted, "itemclick": False, "itemdoubleclick": False,
        },
        uirevision="keep",
        dragmode=False,
    )  # fmt: skip
    figure.update_xaxes(
        type="date", range=[axis.start, axis.end], showgrid=False, zeroline=False, linecolor=palette.border,
        tickfont_color=palette.muted, ticks="outside", tickcolor=palette.border, ticklen=4, nticks=7,
        tickformat=_tick_format(axis), hoverformat="%d %b %H:%M:%S UTC", fixedrange=True,
    )  # fmt: skip
    figure.update_yaxes(
        title={"font": {"size": 13, "color": palette.muted}, "standoff": 8},
        gridcolor=palette.border, zeroline=False, tickfont_color=palette.muted, rangemode="tozero", nticks=6,
        fixedrange=True,
    )  # fmt: skip
    figure.add_annotation(
        x=0, xref="paper", xanchor="right", xshift=-30, y=0, yref="paper", yanchor="top", yshift=-4, text="UTC",
        showarrow=False, font={"size": 11, "color": palette.muted},
    )  # fmt: skip
    _mark(figure, axis, palette)
    return figure


def _tick_format(axis: TimeAxis) -> str:
    if axis.end - axis.start > pd.Timedelta(days=2):
        return "%d %b\n%H:%M"
    return "%H:%M\n%d %b" if axis.lines == 2 else "%H:%M"


def _mark(figure: go.Figure, axis: TimeAxis, palette: Palette) -> None:
    for event in axis.events:
        figure.add_shape(
            type="line", x0=event.at, x1=event.at, y0=0, y1=1, yref="paper",
            line={"color": palette.text, "width": 1, "dash": "dot"},
        )  # fmt: skip
        figure.add_annotation(
            x=event.at, xanchor=_anchor(event.at, axis), y=0, yref="paper", yanchor="top",
            yshift=-4 - _LINE * axis.lines, text=event.word, showarrow=False,
            font={"size": 12, "color": palette.text},
        )  # fmt: skip


def _anchor(at: pd.Timestamp, axis: TimeAxis) -> str:
    """Words near an end of the axis stay on the chart."""
    place = (at - axis.start) / (axis.end - axis.start)
    return "left" if place < _NEAR_AN_END else "right" if place > 1 - _NEAR_AN_END else "center"


def say(figure: go.Figure, words: str, palette: Palette, at: pd.Timestamp | None = None) -> None:
    """Words on the chart, in its middle or at an instant: why there is nothing to see."""
    where = {"x": 0.5, "xref": "paper"} if at is None else {"x": at}
    if at is None:
        figure.update_yaxes(showticklabels=False, showgrid=False)
    figure.add_annotation(
        **where, y=0.5, yref="paper", text=words, showarrow=False, font={"size": 14, "color": palette.muted},
        bgcolor=palette.background, borderpad=4,
    )  # fmt: skip
