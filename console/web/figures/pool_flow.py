"""How much is read from a pool and written to it, over time: two lines, told apart by more than colour."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.segments import Source
from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import line, milliseconds, runs
from console.web.palette import Palette
from tierdeck.units import size_unit


def pool_flow(series: pd.DataFrame, axis: TimeAxis, palette: Palette, question: str) -> go.Figure:
    """Lines with gaps where nothing was told.

    Args:
        series: `at`, `width_seconds`, `read_rate`, `written_rate` in bytes a second.
    """
    chart = time_chart(question, axis, palette)
    rates = series[["read_rate", "written_rate"]]
    if series.empty or not rates.notna().any(axis=None):
        say(chart, "nothing that counts bytes was read twice in this window")
        return chart.figure()
    unit, size = size_unit(float(np.nanmax(rates.to_numpy(dtype=np.float64))))
    chart.layout["yaxis"]["title"] |= {"text": f"{unit}/s"}
    at, width = milliseconds(series["at"]), float(series["width_seconds"].iloc[0]) * 1000
    lines = (
        ("read_rate", "read", palette.of(Source.L2), "solid"),
        ("written_rate", "written", palette.text, "dash"),
    )
    for column, name, color, dash in lines:
        values = series[column].to_numpy(dtype=np.float64) / size
        x, y = line(at, values, runs(at, np.isfinite(values), width))
        chart.add(
            "scatter", x=x, y=y, mode="lines", name=name, line={"color": color, "width": 2, "dash": dash},
            hovertemplate=f"%{{y:.3~f}} {unit}/s",
        )  # fmt: skip
    return chart.figure()
