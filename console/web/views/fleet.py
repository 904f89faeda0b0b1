"""Fleet: is the fleet healthy, and is caching paying?"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from console import queries
from console.endpoint_page import NOT_PROVED
from console.fleet_page import EndpointRow, FleetPage
from console.web import links, palette
from console.web.empty import no_endpoints
from console.web.figures.frame import TimeAxis
from console.web.figures.tier_area import tier_area
from console.web.figures.ttft import ttft_lines
from console.web.header import header
from console.web.live import live
from console.web.parts import chart, draw_bar, draw_notes, draw_numbers
from console.web.sparks import SPARK_COLUMN, mini_bar, spark
from console.web.tables import percent_column, table

_COLUMNS = st.column_config
_NAME_WIDTH, _WHY_WIDTH = 170, 150
_FROM_0_TO_100 = "From 0 to 100 %; gaps are gaps."
_FROM_HOT_TO_COLD = "L0, L1, L2, recomputed (hatched), as on the bar above."


def render() -> None:
    """The whole view; its body stays up to date."""
    window = header("Fleet", lambda name: queries.fleet_view(name, time.time()).scope)
    live("fleet", lambda: _body(window))


def _body(window: str) -> None:
    page, colors = queries.fleet_view(window, time.time()), palette.current()
    if not page.rows:
        no_endpoints()
        return
    story = page.story
    axis = TimeAxis(story.span.start, story.span.end)
    draw_bar(story, colors)
    draw_numbers(story.headlines)
    left, right = st.columns(2, gap="medium")
    question = "Which tier served the tokens?"
    with left:
        chart(tier_area(story.shares, axis, colors, question), "tiers", f"{question} Shares over time.")
    question = "How long until the first token?"
    with right:
        chart(ttft_lines(story.ttft, axis, colors, question), "ttft", f"{question} p50 and p95 over time.")
    _table(page, colors, window)
    draw_notes(story.notes)


def _table(page: FleetPage, colors: palette.Palette, window: str) -> None:
    table(
        _frame(page.rows, colors, is_several=len(page.clusters) > 1),
        "endpoints",
        "Endpoints: state, replicas, hit ratio and time to first token of each.",
        columns={
            "endpoint": _COLUMNS.ButtonColumn(
                "endpoint",
                help="Opens the endpoint's view.",
                type="tertiary",
                alignment="left",
                key="opened",
                width=_NAME_WIDTH,
            ),
            "strategy": _COLUMNS.TextColumn(help=f"{NOT_PROVED}: nothing has shown that the router follows it."),
            "hit ratio": percent_column("hit ratio", "By token."),
            "why": _COLUMNS.TextColumn("why not known", width=_WHY_WIDTH),
            "hit trend": _COLUMNS.ImageColumn(f"hit ratio, {window}", help=_FROM_0_TO_100, width=SPARK_COLUMN),
            "served by": _COLUMNS.ImageColumn("served by", help=_FROM_HOT_TO_COLD, width=SPARK_COLUMN),
            "TTFT trend": _COLUMNS.ImageColumn(
                f"TTFT p95, {window}", help="From 0 to its largest value; gaps are gaps.", width=SPARK_COLUMN
            ),
            "notes": _COLUMNS.NumberColumn("notes", help="Kinds of reservations about these figures."),
        },
    )
    st.caption(f"Strategy: {NOT_PROVED}.")
    click = st.session_state.get("opened")
    if click is not None:
        row = page.rows[click["row"]]
        links.open_endpoint(row.cluster, row.name, window)


def _frame(rows: Sequence[EndpointRow], colors: palette.Palette, *, is_several: bool) -> pd.DataFrame:
    reasons = any(row.why for row in rows)
    return pd.DataFrame(
        [
            {
                "endpoint": f"{row.name} ›",
                **({"cluster": row.cluster} if is_several else {}),
                "state": row.state,
                "model": row.model,
                "replicas": row.replicas,
                "strategy": row.strategy,
                "hit ratio": row.hit_percent,
                **({"why": row.why} if reasons else {}),
                "hit trend": spark(row.hit_trend, colors.primary, high=1.0),
                "served by": mini_bar(row.segments, colors),
                "TTFT p95": row.ttft_p95,
                "TTFT trend": spark(row.ttft_trend, colors.muted),
                "notes": row.notes,
            }
            for row in rows
        ]
    ).astype({"hit ratio": "float64"})
