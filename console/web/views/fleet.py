"""Fleet: is the fleet healthy, and is caching paying?"""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads, queries
from console.deployment import NOT_PROVED
from console.fleet_page import ORDERS, FleetPage
from console.web import palette
from console.web.alert_strip import draw_strip
from console.web.change_table import draw_table
from console.web.deployment import draw_events
from console.web.empty import no_endpoints
from console.web.endpoint_table import endpoint_table
from console.web.figures.tier_area import tier_area
from console.web.figures.ttft import ttft_lines
from console.web.header import header
from console.web.live import live
from console.web.parts import chart, draw_bar, draw_how, draw_notes, draw_numbers, time_axis

_FEW = 6
"""Endpoints up to which nobody needs to sort."""
_LATEST = 3


def render() -> None:
    """The whole view; its body stays up to date."""
    window = header("Fleet", lambda name: queries.fleet_view(name, time.time()).scope)
    live("fleet", lambda: _body(window), queries.refresh_seconds(window))


def _body(window: str) -> None:
    page, colors = queries.fleet_view(window, time.time()), palette.current()
    if not page.rows:
        no_endpoints()
        return
    story = page.story
    axis = time_axis(story.span, page.moments, page.stretches)
    draw_strip(colors)
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
    _lately(colors)
    if not page.events.empty:
        draw_events(page.events, is_watched=True)
    draw_notes(story.notes)
    draw_how()


def _lately(colors: palette.Palette) -> None:
    """Of all endpoints; nothing where nothing was ever changed."""
    now = time.time()
    changed = change_reads.changes_view(now, limit=_LATEST)
    if changed:
        st.subheader("What was changed lately?", anchor=False)
        draw_table(changed, colors, now, with_endpoint=True)


def _table(page: FleetPage, colors: palette.Palette, window: str) -> None:
    order = next(iter(ORDERS))
    if len(page.rows) > _FEW:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Sort endpoints by", width="content")
            order = st.segmented_control(
                "Sort endpoints by", list(ORDERS), default=order, required=True, key="sort", bind="query-params",
                label_visibility="collapsed",
            )  # fmt: skip
    st.html(endpoint_table(sorted(page.rows, key=ORDERS[order]), colors, window))
    if any(row.strategy for row in page.rows):
        proved = "✓ proved by behaviour, else " if any(row.is_proved for row in page.rows) else ""
        st.caption(f"Strategy: {proved}{NOT_PROVED}.")
