"""What all time charts share: the question, the window's axis, words on empty charts, event markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from console.alert_marks import Stretch, StretchKind
from console.web.figures.chart import Chart
from console.web.palette import Palette, faint

HEIGHT = 300
_LINE = 18
"""Pixels of one line under the axis."""
_TITLE = 56
"""Pixels of the title with a row of names under it."""
_NEAR_AN_END = 0.08
_TWO_LINES = pd.Timedelta(hours=12)
_DAYS = pd.Timedelta(days=2)
"""Windows between these have the day under the hour; shorter ones tell the hour, longer ones the day."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a word under the axis, a dotted line through the chart."""

    at: pd.Timestamp
    word: str


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The window that all charts of a page show, its events, and the stretches that are shaded in it."""

    start: pd.Timestamp
    end: pd.Timestamp
    events: Sequence[Event] = ()
    stretches: Sequence[Stretch] = ()

    @property
    def lines(self) -> int:
        """Lines of text under the axis, those of the events not counted."""
        return 2 if _TWO_LINES <= self.end - self.start <= _DAYS else 1

    @property
    def tick_format(self) -> str:
        if self.end - self.start > _DAYS:
            return "%d %b"
        return "%H:%M\n%d %b" if self.lines == 2 else "%H:%M"


def time_chart(question: str, axis: TimeAxis, palette: Palette, height: int = HEIGHT) -> Chart:
    """An empty chart over the window; its title is the question that it answers."""
    below = _LINE * (axis.lines + bool(axis.events))
    chart = Chart(palette)
    chart.layout |= {
        "title": {"text": f"<b>{question}</b>", "x": 0, "y": 0.985, "yanchor": "top", "font": {"size": 16}},
        "height": height + below,
        "margin": {"l": 58, "r": 8, "t": _TITLE, "b": 10 + below},
        "hovermode": "x unified",
        "uirevision": "keep",
        "legend": {
            "orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "traceorder": "normal",
            "font": {"color": palette.muted}, "itemclick": False, "itemdoubleclick": False,
        },
    }  # fmt: skip
    muted, border = {"color": palette.muted}, palette.border
    chart.layout["xaxis"] |= {
        "type": "date", "range": [axis.start, axis.end], "showgrid": False, "zeroline": False, "linecolor": border,
        "tickfont": muted, "ticks": "outside", "tickcolor": border, "ticklen": 4, "nticks": 7,
        "tickformat": axis.tick_format, "hoverformat": "%d %b %H:%M:%S UTC",
    }  # fmt: skip
    chart.layout["yaxis"] |= {
        "title": {"font": {"size": 13, **muted}, "standoff": 8}, "gridcolor": border, "zeroline": False,
        "tickfont": muted, "rangemode": "tozero", "nticks": 6,
    }  # fmt: skip
    chart.write("UTC", 11, palette.muted, x=0, xanchor="right", xshift=-30, y=0, yanchor="top", yshift=-4)
    for stretch in axis.stretches:
        _shade(chart, stretch, axis)
    for event in axis.events:
        _mark(chart, event, axis)
    return chart


def _shade(chart: Chart, stretch: Stretch, axis: TimeAxis) -> None:
    """A band behind the figures with a bar on its top: red while it fires, grey when it is over."""
    palette = chart.palette
    color = {StretchKind.FIRING: palette.alert, StretchKind.MAINTENANCE: palette.primary}.get(
        stretch.kind, palette.muted
    )
    across = {"type": "rect", "x0": max(stretch.start, axis.start), "x1": min(stretch.end, axis.end), "yref": "paper",
              "line": {"width": 0}}  # fmt: skip
    chart.layout["shapes"] += [
        {**across, "y0": 0, "y1": 1, "fillcolor": faint(color, 0.09), "layer": "below"},
        {**across, "y0": 1, "y1": 1.014, "fillcolor": color},
    ]


def _mark(chart: Chart, event: Event, axis: TimeAxis) -> None:
    dotted = {"color": chart.palette.text, "width": 1, "dash": "dot"}
    chart.layout["shapes"].append(
        {"type": "line", "x0": event.at, "x1": event.at, "y0": 0, "y1": 1, "yref": "paper", "line": dotted}
    )
    place = (event.at - axis.start) / (axis.end - axis.start)
    anchor = "left" if place < _NEAR_AN_END else "right" if place > 1 - _NEAR_AN_END else "center"
    chart.write(
        event.word, 12, x=event.at, xref="x", xanchor=anchor, y=0, yanchor="top", yshift=-4 - _LINE * axis.lines
    )


def say(chart: Chart, words: str, at: pd.Timestamp | None = None) -> None:
    """Words on the chart, in its middle or at an instant: why there is nothing to see."""
    where = {"x": 0.5} if at is None else {"x": at, "xref": "x"}
    if at is None:
        chart.layout["yaxis"] |= {"showticklabels": False, "showgrid": False}
    palette = chart.palette
    chart.write(words, 14, palette.muted, **where, y=0.5, bgcolor=palette.background, borderpad=4)
