"""What an alert's rule looks at, around the time it began: the line, what it was held against, and what happened."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from console.alert_chart import AlertChart
from console.alert_marks import Stretch, StretchKind
from console.web.escape import plain
from console.web.figures.frame import Event, TimeAxis, say, time_chart
from console.web.figures.runs import line, milliseconds, runs
from console.web.palette import Palette
from tierdeck.events import EventKind

_HEIGHT = 230
_MOST_EVENTS = 4
_WIDEST = 16


def alert_line(chart: AlertChart, palette: Palette) -> go.Figure:
    """Gaps stay gaps; the band begins when the condition first held."""
    kind = StretchKind.FIRING if chart.is_firing else StretchKind.OVER
    axis = TimeAxis(chart.start, chart.end, _events(chart), [Stretch(chart.began, chart.ended, kind, "")])
    drawn = time_chart(chart.plan.question, axis, palette, _HEIGHT)
    drawn.layout["yaxis"] |= {"tickformat": ".0%", "range": [0, 1.02]} if chart.plan.is_share else {"nticks": 4}
    series = chart.series
    if series.empty or not series["value"].notna().any():
        say(drawn, "no data around then" if series.empty else "not known around then")
        return drawn.figure()
    at, values = milliseconds(series["at"]), series["value"].to_numpy(dtype=np.float64)
    x, y = line(at, values, runs(at, np.isfinite(values), float(series["width_seconds"].iloc[0]) * 1000))
    drawn.add(
        "scatter", x=x, y=y, mode="lines", name=chart.plan.name, line={"color": palette.primary, "width": 2},
        hovertemplate="%{y:.1%}" if chart.plan.is_share else "%{y:.3~s}", showlegend=True,
    )  # fmt: skip
    if chart.expected is not None:
        drawn.add(
            "scatter", x=[chart.start, chart.end], y=[chart.expected] * 2, mode="lines", showlegend=True,
            name=chart.held_against, line={"color": palette.muted, "width": 2, "dash": "dash"},
            hovertemplate="%{y:.1%}",
        )  # fmt: skip
    return drawn.figure()


def _events(chart: AlertChart) -> list[Event]:
    """What happened nearest to the beginning, with room between the words."""
    found = chart.happened
    if found.empty:
        return []
    apart = (chart.end - chart.start) / (_MOST_EVENTS + 1)
    near = found.assign(far=(found["at"] - chart.began).abs()).sort_values("far", kind="stable")
    kept: list[Event] = []
    for at, kind in zip(near["at"], near["kind"], strict=True):
        if len(kept) < _MOST_EVENTS and all(abs(at - one.at) >= apart for one in kept):
            kept.append(Event(at, plain(EventKind(kind).label[:_WIDEST])))
    return kept
