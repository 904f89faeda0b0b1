"""How full a pool is, over time, and when it is full: what it holds, what others take, its capacity, the forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.pool_page import Forecast
from console.segments import Source
from console.web.figures.chart import Chart
from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import line, milliseconds, polygon, runs
from console.web.palette import Palette, faint
from tierdeck.units import size_unit

_TITLE_OF_TWO_ROWS = 76
"""Pixels of the title with two rows of names under it, which a narrow screen needs."""


def pool_room(
    series: pd.DataFrame, forecast: Forecast | None, axis: TimeAxis, palette: Palette, question: str
) -> go.Figure:
    """Areas and lines with gaps where nothing was told.

    Args:
        series: `at`, `width_seconds`, `used_bytes`, `taken_bytes` (all that is not free), `capacity_bytes`.
        forecast: a line beyond the window, for which the axis grows.
    """
    axis = axis if forecast is None else replace(axis, end=forecast.end)
    chart = time_chart(question, axis, palette)
    if forecast is not None:
        chart.layout["margin"] |= {"t": _TITLE_OF_TWO_ROWS}
    if series.empty or not series["used_bytes"].notna().any():
        say(chart, "no data in this window" if series.empty else "not told in this window")
        return chart.figure()
    unit, size = size_unit(float(series["capacity_bytes"].max()))
    chart.layout["yaxis"]["title"] |= {"text": unit}
    at, width = milliseconds(series["at"]), float(series["width_seconds"].iloc[0]) * 1000
    used, taken, capacity = (
        series[name].to_numpy(dtype=np.float64) / size for name in ("used_bytes", "taken_bytes", "capacity_bytes")
    )
    color = palette.of(Source.L2)
    found = runs(at, np.isfinite(used), width)
    x, y = polygon(at, np.zeros(len(at)), used, found)
    chart.add(
        "scatter", x=x, y=y, mode="none", fill="toself", fillcolor=faint(color, 0.35), hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip
    x, y = line(at, used, found)
    chart.add(
        "scatter", x=x, y=y, mode="lines", name="held by the pool", line={"color": color, "width": 2},
        hovertemplate=f"%{{y:.3~f}} {unit}",
    )  # fmt: skip
    for values, name, dash in ((taken, "not free", "dot"), (capacity, "capacity", "solid")):
        x, y = line(at, values, runs(at, np.isfinite(values), width))
        chart.add(
            "scatter", x=x, y=y, mode="lines", name=name, line={"color": palette.muted, "width": 1.5, "dash": dash},
            hovertemplate=f"%{{y:.3~f}} {unit}",
        )  # fmt: skip
    if forecast is not None:
        _look_ahead(chart, forecast, float(capacity[np.isfinite(capacity)][-1]), (unit, size))
    return chart.figure()


def _look_ahead(chart: Chart, forecast: Forecast, capacity: float, told_in: tuple[str, int]) -> None:
    """A cross where the room ends, if that lies on the chart."""
    unit, size = told_in
    across, palette = [forecast.start, forecast.end], chart.palette
    chart.add(
        "scatter", x=across, y=[capacity] * 2, mode="lines", line={"color": palette.muted, "width": 1.5},
        showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    ends = [forecast.from_bytes / size, forecast.to_bytes / size]
    chart.add(
        "scatter", x=across, y=ends, mode="lines", name="at the last hour's pace",
        line={"color": palette.text, "width": 2, "dash": "dash"}, hovertemplate=f"%{{y:.3~f}} {unit}",
    )  # fmt: skip
    if forecast.is_full:
        chart.add(
            "scatter", x=across[1:], y=ends[1:], mode="markers", name="full", cliponaxis=False,
            marker={"symbol": "x", "size": 11, "color": palette.text}, hovertemplate="full",
        )  # fmt: skip
