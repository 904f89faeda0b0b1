"""How long until the first token, over time: p50 and p95, each with its bucket's bounds as a band."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from console.web.figures.chart import Chart
from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import Array, line, milliseconds, polygon, runs
from console.web.palette import Palette, faint
from console.words import bound_words

_WIDE = 30
"""From this ratio of the largest p95 to the least p50 on, the axis is logarithmic."""


def ttft_lines(series: pd.DataFrame, axis: TimeAxis, palette: Palette, question: str) -> go.Figure:
    """Lines where the quantile is known; triangles on the last bound where it lies beyond it.

    Args:
        series: `at`, `width_seconds`, `ttft_p50`, `ttft_p95`, each also with `_low` and `_high`
            (seconds; where the quantile fell into +Inf: NaN, the last bound, inf).
    """
    chart = time_chart(question, axis, palette)
    chart.layout["yaxis"] |= {"ticksuffix": " s"}
    if not series["ttft_p50_low"].notna().any():
        say(chart, "no data in this window" if series.empty else "no time to first token was observed")
        return chart.figure()
    if _is_wide(series):
        ticks = [10.0**power for power in range(-3, 4)]
        chart.layout["yaxis"]["title"] |= {"text": "log scale"}
        chart.layout["yaxis"] |= {
            "type": "log", "rangemode": "normal", "tickvals": ticks, "ticktext": [bound_words(tick) for tick in ticks],
            "ticksuffix": "",
        }  # fmt: skip
    at = milliseconds(series["at"])
    width = float(series["width_seconds"].iloc[0]) * 1000
    for name, color in (("p95", palette.text), ("p50", palette.primary)):
        value, low, high = (series[f"ttft_{name}{end}"].to_numpy(dtype=np.float64) for end in ("", "_low", "_high"))
        x, y = polygon(at, low, high, runs(at, np.isfinite(high), width))
        chart.add(
            "scatter", x=x, y=y, mode="none", fill="toself", fillcolor=faint(color, 0.13), hoverinfo="skip",
            name=f"{name}'s bucket", showlegend=name == "p95",
        )  # fmt: skip
        x, y = line(at, value, runs(at, np.isfinite(value), width))
        chart.add(
            "scatter", x=x, y=y, mode="lines", name=name, line={"color": color, "width": 2},
            hovertemplate="%{y:.3~s}s",
        )  # fmt: skip
        _beyond(chart, name, (at, low), np.isinf(high), color)
    return chart.figure()


def _is_wide(series: pd.DataFrame) -> bool:
    """p50 would lie on the axis: p95 is far above it."""
    low = series["ttft_p50"].where(series["ttft_p50"] > 0).min()
    high = series["ttft_p95"].fillna(series["ttft_p95_low"]).max()
    return bool(low > 0 and high > _WIDE * low)


def _beyond(chart: Chart, name: str, bound: tuple[Array, Array], beyond: npt.NDArray[np.bool_], color: str) -> None:
    if not beyond.any():
        return
    at, low = (part[beyond] for part in bound)
    chart.add(
        "scatter", x=at, y=low, mode="markers", name=f"{name} ≥ {bound_words(float(low.max()))}",
        marker={"symbol": "triangle-up", "size": 8, "color": color}, hovertemplate="≥ %{y:.3~s}s",
    )  # fmt: skip
