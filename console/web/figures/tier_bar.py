"""Where a window's prompt tokens came from: one stacked bar with its labels on the segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from console.segments import Segment
from console.web.palette import FONT, Palette
from console.words import bounds_words
from tierdeck.units import format_count, format_ratio

_BAR, _ROW = 68, 26
"""Pixels: height of the bar, and of the row of labels under it."""
_WIDTH, _LETTER, _AROUND = 1150, 6.9, 20
"""Pixels: the least width that the bar has on a laptop, of a letter, and of the room around a label."""


def tier_bar(parts: Sequence[Segment], palette: Palette) -> go.Figure:
    """The bar; a segment too narrow for its label has it below, as near as the others allow."""
    figure = go.Figure()
    for part in parts:
        figure.add_bar(
            x=[part.share], y=[""], orientation="h", width=1, name=part.source.label,
            marker={"color": palette.of(part.source), "pattern": palette.pattern(part.source),
                    "line": {"color": palette.background, "width": 1}},
            hovertemplate=f"{label(part)}<extra></extra>",
        )  # fmt: skip
    start, below = 0.0, []
    for part in parts:
        if _fits(part, _lines(part)):
            _write(figure, start, "<br>".join(_lines(part)), palette.on(part.source))
        else:
            below.append((start, part))
            if _fits(part, [format_ratio(part.share)]):
                _write(figure, start, f"<b>{format_ratio(part.share)}</b>", palette.on(part.source))
        start += part.share
    for x, part in _side_by_side(below):
        swatch = f"<span style='color:{palette.swatch(part.source)}'>■</span>"
        figure.add_annotation(
            x=x, xref="paper", xanchor="left", y=0, yref="paper", yanchor="top", yshift=-4, showarrow=False,
            text=f"{swatch} {label(part)}", font={"size": 14, "color": palette.text},
        )  # fmt: skip
    row = _ROW if below else 0
    figure.update_layout(
        template="none", barmode="stack", bargap=0, showlegend=False, dragmode=False,
        font={"family": FONT, "color": palette.text}, height=_BAR + row, margin={"l": 0, "r": 0, "t": 0, "b": row},
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"bgcolor": palette.raised, "bordercolor": palette.border, "font_color": palette.text},
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.5, 0.5], fixedrange=True)
    return figure


def label(part: Segment) -> str:
    """`18 % L1 · CPU, 8.7 M tokens`; an estimate with its bounds."""
    return f"<b>{format_ratio(part.share)}</b> {part.source.label}, {_tokens(part)}"


def describe(parts: Sequence[Segment]) -> str:
    """The bar in words, for those who don't see it."""
    return "; ".join(f"{format_ratio(part.share)} {part.source.label}" for part in parts)


def _lines(part: Segment) -> list[str]:
    return [f"<b>{format_ratio(part.share)}</b>  {part.source.label}", _tokens(part)]


def _tokens(part: Segment) -> str:
    bounds = f" ({bounds_words(part.share_low, part.share_high)})" if part.estimated else ""
    return f"{format_count(part.tokens)} tokens{bounds}"


def _fits(part: Segment, lines: Sequence[str]) -> bool:
    return part.share >= max(_share_of(line) for line in lines)


def _share_of(text: str) -> float:
    """Width of a text as a share of the bar's."""
    letters = len(text.replace("<b>", "").replace("</b>", ""))
    return (letters * _LETTER + _AROUND) / _WIDTH


def _write(figure: go.Figure, x: float, text: str, color: str) -> None:
    figure.add_annotation(
        x=x, xref="paper", xanchor="left", xshift=8, y=0.5, yref="paper", yanchor="middle", align="left", text=text,
        showarrow=False, font={"size": 15, "color": color}, captureevents=False,
    )  # fmt: skip


def _side_by_side(below: Sequence[tuple[float, Segment]]) -> Iterator[tuple[float, Segment]]:
    """Under their segments, pushed right where they would overlap, and back where they would leave the bar."""
    widths = [_share_of(label(part)) for _, part in below]
    places: list[float] = []
    for (start, _), width in zip(below, widths, strict=True):
        after = places[-1] + widths[len(places) - 1] if places else 0.0
        places.append(min(max(start, after), 1.0 - width))
    limit = 1.0
    for index in reversed(range(len(places))):
        places[index] = max(0.0, min(places[index], limit - widths[index]))
        limit = places[index]
    return ((place, part) for place, (_, part) in zip(places, below, strict=True))
