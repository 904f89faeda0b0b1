"""What fires, in a line each, on top of other views."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

import streamlit as st

from console import alert_queries
from console.alert_queries import Brief
from console.web.escape import escaped
from console.web.palette import Palette
from tierdeck.fleet import POOL

_MOST = 3


def draw_strip(palette: Palette, endpoint: tuple[str, str] | None = None) -> None:
    """Nothing where nothing fires.

    Args:
        endpoint: cluster and name: only what is about it, or about its cluster's pools.
    """
    now = time.time()
    found = alert_queries.briefs(now, endpoint)
    window = alert_queries.under_maintenance(now, endpoint) if endpoint is not None else ""
    if window:
        st.caption(escaped(f"◐ Under maintenance {window}. Its alerts are silenced, its changes are frozen."))
    _draw(found, palette)


def draw_pool_strip(palette: Palette, cluster: str) -> None:
    """What fires about a cluster's pools; nothing where nothing does."""
    _draw(alert_queries.briefs(time.time(), (cluster, POOL)), palette)


def _draw(found: Sequence[Brief], palette: Palette) -> None:
    if not found:
        return
    lines = "".join(
        f"<div style='padding:2px 0'><span style='color:{palette.alert};font-weight:700;white-space:nowrap'>"
        f"{escape(one.severity)}</span>&ensp;<a href='alerts?alert={one.id}' target='_self' style='color:inherit;"
        f"font-weight:600'>{escape(one.title)}</a>&ensp;{escape(one.whom)} "
        f"<span style='color:{palette.muted}'>{escape(one.since)}{', acknowledged' if one.is_acknowledged else ''}"
        "</span></div>"
        for one in found[:_MOST]
    )
    more = len(found) - _MOST
    if more > 0:
        lines += (f"<div><a href='alerts' target='_self' style='color:{palette.primary};font-weight:600'>"
                  f"and {more} more</a></div>")  # fmt: skip
    st.html(
        f"<div role='status' aria-label='Firing alerts' style='border:1px solid {palette.border};border-left:4px solid "
        f"{palette.alert};border-radius:8px;padding:8px 14px;background:{palette.raised}'>{lines}</div>"
    )
