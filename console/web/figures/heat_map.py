"""Which replica serves from its caches: hit ratio per replica over time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.web.escape import plain
from console.web.figures.frame import TimeAxis, say, time_chart
from console.web.figures.runs import milliseconds
from console.web.palette import Palette

_ROW, _LEAST, _MOST, _TITLE, _BELOW = 24, 72, 560, 36, 10
"""Pixels: a replica's row, the least and largest height of all rows, and what stands around them."""
_MOST_NAMES = 24
_SCALE = 140
"""Pixels: the most that the colour scale takes."""


def heat_map(heat: pd.DataFrame, axis: TimeAxis, palette: Palette, question: str) -> go.Figure:
    """One row per replica, the first on top; holes show the page through.

    Args:
        heat: as `EndpointPage.heat`.
    """
    rows = min(_MOST, max(_LEAST, _ROW * len(heat)))
    chart = time_chart(question, axis, palette, height=rows + _TITLE + _BELOW)
    chart.layout["margin"] |= {"t": _TITLE}
    chart.layout |= {"hovermode": "closest", "showlegend": False}
    if heat.empty or not heat.notna().any(axis=None):
        say(chart, "no hit ratio is known in this window")
        chart.layout["yaxis"] |= {"visible": False}
        return chart.figure()
    names = [str(name) for name in heat.index]
    at = milliseconds(pd.Series(heat.columns))
    width = float(at[1] - at[0]) if len(at) > 1 else 1000.0
    low, middle, high = palette.scale
    chart.add(
        "heatmap", x=at + width / 2, y=list(range(len(names))), z=heat.to_numpy(dtype=np.float64), zmin=0, zmax=1,
        ygap=2 if len(names) <= _MOST_NAMES else 0, hoverongaps=False,
        colorscale=[[0, low], [0.5, middle], [1, high]],
        colorbar={"tickformat": ".0%", "thickness": 10, "outlinewidth": 0, "nticks": 3, "xpad": 6, "y": 1,
                  "tickfont": {"color": palette.muted}, "len": min(rows, _SCALE), "lenmode": "pixels",
                  "yanchor": "top"},
        text=[[plain(name)] * heat.shape[1] for name in names], hovertemplate="%{text}: %{z:.0%}<extra></extra>",
    )  # fmt: skip
    shown = range(0, len(names), math.ceil(len(names) / _MOST_NAMES))
    chart.layout["yaxis"] |= {
        "tickvals": list(shown), "ticktext": [plain(_short(names[index])) for index in shown], "showgrid": False,
        "autorange": "reversed", "rangemode": "normal", "automargin": True,
    }  # fmt: skip
    return chart.figure()


def _short(name: str, most: int = 28) -> str:
    """The end of a long name: pods of one Deployment differ there."""
    return name if len(name) <= most else f"…{name[1 - most :]}"
