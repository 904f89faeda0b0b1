"""Where a window's prompt tokens came from: one stacked bar with its labels on the segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from console.segments import Segment
from console.web.figures.chart import Chart
from console.web.palette import Palette
from console.words import bounds_words
from tierdeck.units import format_count, format_ratio

_BAR, _ROW = 68, 26
"""Pixels: height of the bar, and of the row of labels under it."""
_WIDTH, _LETTER, _AROUND = 1150, 6.9, 20
"""Pixels: the least width that the bar has on a laptop, of a letter, and of the room around a label."""


def tier_bar(parts: Sequence[Segment], palette: Palette) -> go.Figure:
    """The bar; a segment too narrow for its label has it below, as near as the others allow."""
    chart = Chart(palette)
    for part in parts:
        seam = {"color": palette.background, "width": 1}
        chart.add(
            "bar", x=[part.share], y=[""], orientation="h", width=1, name=part.source.label,
            marker={"color": palette.of(part.source), "pattern": palette.pattern(part.source), "line": seam},
            hovertemplate=f"{label(part)}<extra></extra>",
        )  # fmt: skip
    below = list(_write_inside(chart, parts))
    for x, part in _side_by_side(below):
        swatch = f"<span style='color:{palette.swatch(part.source)}'>■</span>"
        chart.write(f"{swatch} {label(part)}", 14, x=x, xanchor="left", y=0, yanchor="top", yshift=-4)
    row = _ROW if below else 0
    chart.layout |= {
        "barmode": "stack", "bargap": 0, "showlegend": False, "height": _BAR + row,
        "margin": {"l": 0, "r": 0, "t": 0, "b": row},
    }  # fmt: skip
    chart.layout["xaxis"] |= {"visible": False, "range": [0, 1]}
    chart.layout["yaxis"] |= {"visible": False, "range": [-0.5, 0.5]}
    return chart.figure()


def _write_inside(chart: Chart, parts: Sequence[Segment]) -> Iterator[tuple[float, Segment]]:
    """Labels on the segments that hold them; the others, with where they start."""
    start = 0.0
    for part in parts:
        if _fits(part, _lines(part)):
            text = "<br>".join(_lines(part))
        else:
            yield start, part
            text = f"<b>{format_ratio(part.share)}</b>" if _fits(part, [format_ratio(part.share)]) else ""
        if text:
            place = {"x": start, "xanchor": "left", "xshift": 8, "y": 0.5, "yanchor": "middle", "align": "left"}
            chart.write(text, 15, chart.palette.on(part.source), **place)
        start += part.share


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
