"""The share of prompt tokens that was not recomputed, over time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import line, milliseconds, runs
from console.web.palette import Palette


def hit_line(series: pd.DataFrame, axis: TimeAxis, palette: Palette, question: str) -> go.Figure:
    """One line.

    Args:
        series: `at`, `width_seconds`, `hit_ratio` in [0, 1]; NaN: unknown, drawn as a hole.
    """
    chart = time_chart(question, axis, palette)
    chart.layout["yaxis"] |= {"tickformat": ".0%", "range": [0, 1.02]}
    if series.empty or not series["hit_ratio"].notna().any():
        say(chart, "no data in this window" if series.empty else "no traffic, or not exported")
        return chart.figure()
    at, values = milliseconds(series["at"]), series["hit_ratio"].to_numpy(dtype=np.float64)
    x, y = line(at, values, runs(at, np.isfinite(values), float(series["width_seconds"].iloc[0]) * 1000))
    chart.add(
        "scatter", x=x, y=y, mode="lines", name="hit ratio, by token", line={"color": palette.primary, "width": 2},
        hovertemplate="%{y:.1%}", showlegend=True,
    )  # fmt: skip
    return chart.figure()
