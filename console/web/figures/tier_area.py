"""Which tier served the tokens, over time: a stacked area in percent or in tokens a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.segments import Source
from console.web.figures.chart import Chart
from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import Array, Run, holes, milliseconds, polygon, runs
from console.web.palette import Palette

_ONE_ROW, _TITLE_OF_TWO_ROWS = 5, 76
"""Areas whose names fit in one row over the chart, and the pixels that two rows take with the title."""
_FEW = 0.5
_WORTH_A_WORD = 0.12
"""Least share of the window that a hole must span to be named."""


def tier_area(
    series: pd.DataFrame, axis: TimeAxis, palette: Palette, question: str, *, absolute: bool = False
) -> go.Figure:
    """One area per source of tokens.

    Args:
        series: `at`, `width_seconds`, `prompt_tokens`, and one column per `Source`: shares in
            [0, 1], or tokens a second where `absolute`. NaN: unknown, drawn as a hole.
    """
    chart = time_chart(question, axis, palette)
    chart.layout["yaxis"] |= {"tickformat": "~s"} if absolute else {"tickformat": ".0%", "range": [0, 1]}
    if absolute:
        chart.layout["yaxis"]["title"] |= {"text": "tokens/s"}
    if series.empty:
        say(chart, "no data in this window")
        return chart.figure()
    at = milliseconds(series["at"])
    values = {source: series[str(source)].to_numpy(dtype=np.float64) for source in Source}
    shown = [source for source in Source if np.nansum(values[source]) > 0]
    told = np.isfinite(np.array(list(values.values()))).all(axis=0)
    found = runs(at, told, float(series["width_seconds"].iloc[0]) * 1000)
    floor = np.zeros(len(series))
    for source in shown:
        _add(chart, source, polygon(at, floor, floor + values[source], found))
        floor = floor + np.nan_to_num(values[source])
    if len(shown) > _ONE_ROW:
        chart.layout["margin"] |= {"t": _TITLE_OF_TWO_ROWS}
    kept = [index for run in found for index in range(run.first, run.last)]
    carried = np.array([values[source][kept] for source in shown]).T
    _hover(chart, shown, (at[kept], floor[kept], carried), ":,.0f} tokens/s" if absolute else ":.0%}")
    for middle, words in _named_holes(series, at, found, axis):
        say(chart, words, at=pd.Timestamp(middle, unit="ms"))
    return chart.figure()


def _add(chart: Chart, source: Source, area: tuple[Array, Array]) -> None:
    palette = chart.palette
    chart.add(
        "scatter", x=area[0], y=area[1], mode="lines", line={"width": 0.5, "color": palette.background}, fill="toself",
        fillcolor=palette.of(source), name=source.label, hoverinfo="skip", fillpattern=palette.pattern(source),
    )  # fmt: skip


def _hover(chart: Chart, shown: Sequence[Source], carried: tuple[Array, Array, Array], form: str) -> None:
    """One invisible line on top carries the values of all areas."""
    rows = [f"{source.label}: %{{customdata[{index}]{form}" for index, source in enumerate(shown)]
    chart.add(
        "scatter", x=carried[0], y=carried[1], customdata=carried[2], mode="lines", line={"width": 0},
        showlegend=False, hovertemplate="<br>".join(reversed(rows)) + "<extra></extra>",
    )  # fmt: skip


def _named_holes(series: pd.DataFrame, at: Array, found: list[Run], axis: TimeAxis) -> Iterator[tuple[float, str]]:
    """(middle, why) of each hole that is wide enough."""
    start, end = (instant.timestamp() * 1000 for instant in (axis.start, axis.end))
    for first, last in holes(found, at, start, end):
        if last - first >= _WORTH_A_WORD * (end - start):
            width = float(series["width_seconds"].iloc[0]) * 1000
            yield (first + last) / 2, _why(series["prompt_tokens"][(at >= first) & (at < last)], (last - first) / width)


def _why(prompt_tokens: pd.Series, buckets: float) -> str:
    """Of a hole so many buckets wide; a few rows in it, such as the first scrape's, don't speak for all of it."""
    if len(prompt_tokens) < _FEW * buckets:
        return "no data"
    return "no traffic" if (prompt_tokens == 0).all() else "not readable"
