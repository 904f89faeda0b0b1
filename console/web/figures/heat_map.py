"""Which replica serves from its caches: hit ratio per replica over time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from console.web.figures.frame import TimeAxis, say, time_figure
from console.web.figures.runs import milliseconds
from console.web.palette import Palette

_ROW, _LEAST, _MOST, _AROUND = 24, 72, 560, 46
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
    figure = time_figure(question, axis, palette, height=rows + _AROUND)
    if heat.empty or not heat.notna().any(axis=None):
        say(figure, "no hit ratio is known in this window", palette)
        figure.update_yaxes(visible=False)
        return figure
    names = [str(name) for name in heat.index]
    at = milliseconds(pd.Series(heat.columns))
    width = float(at[1] - at[0]) if len(at) > 1 else 1000.0
    low, middle, high = palette.scale
    figure.add_heatmap(
        x=at + width / 2, y=list(range(len(names))), z=heat.to_numpy(dtype=np.float64), zmin=0, zmax=1,
        xgap=0, ygap=2 if len(names) <= _MOST_NAMES else 0, hoverongaps=False,
        colorscale=[[0, low], [0.5, middle], [1, high]],
        colorbar={"tickformat": ".0%", "thickness": 10, "outlinewidth": 0, "nticks": 3, "tickfont_color": palette.muted,
                  "len": min(rows, _SCALE), "lenmode": "pixels", "y": 1, "yanchor": "top", "xpad": 6},
        text=[[name] * heat.shape[1] for name in names], hovertemplate="%{text}: %{z:.0%}<extra></extra>",
    )  # fmt: skip
    every = math.ceil(len(names) / _MOST_NAMES)
    shown = range(0, len(names), every)
    figure.update_yaxes(
        tickvals=list(shown), ticktext=[_short(names[index]) for index in shown], autorange="reversed",
        showgrid=False, rangemode="normal", automargin=True,
    )  # fmt: skip
    figure.update_layout(hovermode="closest", showlegend=False, margin_t=36)
    return figure


def _short(name: str, most: int = 28) -> str:
    """The end of a long name: pods of one Deployment differ there."""
    return name if len(name) <= most else f"…{name[1 - most :]}"
