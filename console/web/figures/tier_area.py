"""Which tier served the tokens, over time: a stacked area in percent or in tokens a second."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.segments import Source
from console.web.figures.frame import TimeAxis, say, time_figure
from console.web.figures.runs import Array, Run, holes, milliseconds, polygon, runs
from console.web.palette import Palette

_ONE_ROW = 5
"""Areas whose names fit in one row over the chart."""
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
    figure = time_figure(question, axis, palette)
    figure.update_yaxes(
        **({"title_text": "tokens/s", "tickformat": "~s"} if absolute else {"tickformat": ".0%", "range": [0, 1]})
    )
    if series.empty:
        say(figure, "no data in this window", palette)
        return figure
    at = milliseconds(series["at"])
    width = float(series["width_seconds"].iloc[0]) * 1000
    told = series[[str(source) for source in Source]].notna().all(axis=1).to_numpy()
    found = runs(at, told, width)
    floor = np.zeros(len(series))
    for source in Source:
        values = series[str(source)].to_numpy(dtype=np.float64)
        if np.nansum(values) > 0:
            _add(figure, source, polygon(at, floor, floor + values, found), palette)
            floor = floor + np.nan_to_num(values)
    if len(figure.data) > _ONE_ROW:
        figure.update_layout(margin_t=76)
    _hover(figure, series, at, floor, found, absolute=absolute)
    for start, end, words in _named_holes(series, at, found, axis):
        say(figure, words, palette, at=pd.Timestamp((start + end) / 2, unit="ms"))
    return figure


def _add(figure: go.Figure, source: Source, area: tuple[Array, Array], palette: Palette) -> None:
    figure.add_scatter(
        x=area[0], y=area[1], mode="lines", line={"width": 0.5, "color": palette.background}, fill="toself",
        fillcolor=palette.of(source), name=source.label, hoverinfo="skip", fillpattern=palette.pattern(source),
    )  # fmt: skip


def _hover(figure: go.Figure, series: pd.DataFrame, at: Array, top: Array, found: list[Run], *, absolute: bool) -> None:
    """One invisible line on top carries the values of all areas."""
    shown = [source for source in Source if np.nansum(series[str(source)].to_numpy(dtype=np.float64)) > 0]
    form = ":,.0f} tokens/s" if absolute else ":.0%}"
    rows = [f"{source.label}: %{{customdata[{index}]{form}" for index, source in enumerate(shown)]
    kept = [index for run in found for index in range(run.first, run.last)]
    figure.add_scatter(
        x=at[kept], y=top[kept], mode="lines", line={"width": 0}, showlegend=False,
        customdata=series[[str(source) for source in shown]].to_numpy(dtype=np.float64)[kept],
        hovertemplate="<br>".join(reversed(rows)) + "<extra></extra>",
    )  # fmt: skip


def _named_holes(series: pd.DataFrame, at: Array, found: list[Run], axis: TimeAxis) -> list[tuple[float, float, str]]:
    start, end = (instant.timestamp() * 1000 for instant in (axis.start, axis.end))
    named = []
    for first, last in holes(found, at, start, end):
        if last - first >= _WORTH_A_WORD * (end - start):
            within = series["prompt_tokens"][(at >= first) & (at < last)]
            named.append((first, last, _why(within)))
    return named


def _why(prompt_tokens: pd.Series) -> str:
    if prompt_tokens.empty:
        return "no data"
    return "no traffic" if (prompt_tokens == 0).all() else "not readable"
