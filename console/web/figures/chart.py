"""A figure in the making: traces and layout as plain values, checked by Plotly once, when it is finished.

Plotly's own setters check and copy at every call, which costs more than everything else on a page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from console.web.palette import FONT, Palette

CONFIG = {"displayModeBar": False, "responsive": True}
"""Plotly's configuration of every chart."""
_CLEAR = "rgba(0,0,0,0)"


@dataclass(slots=True)
class Chart:
    """`layout` has its `xaxis`, `yaxis`, `annotations` and `shapes` from the start."""

    palette: Palette
    traces: list[dict[str, Any]] = field(default_factory=list)
    layout: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hover = {"bgcolor": self.palette.raised, "bordercolor": self.palette.border}
        plain = {
            "template": "none",
            "font": {"family": FONT, "size": 13, "color": self.palette.text},
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "hoverlabel": {**hover, "font": {"color": self.palette.text}},
            "dragmode": False,
            "xaxis": {"fixedrange": True},
            "yaxis": {"fixedrange": True},
            "annotations": [],
            "shapes": [],
        }
        self.layout = plain | self.layout

    def add(self, kind: str, **trace: Any) -> None:
        """A trace of a kind of Plotly's, such as `scatter`."""
        self.traces.append({"type": kind, **trace})

    def write(self, text: str, size: int = 13, color: str = "", **place: Any) -> None:
        """A text without an arrow; places are on the paper unless told otherwise."""
        font = {"size": size, "color": color or self.palette.text}
        paper = {"xref": "paper", "yref": "paper"}
        self.layout["annotations"].append({"text": text, "showarrow": False, "font": font, **paper, **place})

    def figure(self) -> go.Figure:
        """The finished figure."""
        return go.Figure({"data": self.traces, "layout": self.layout})
