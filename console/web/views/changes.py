"""Changes: what was changed, by whom, and what became of it?"""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads, queries
from console.web import change_dialogs, palette
from console.web.change_cards import draw_change
from console.web.change_table import draw_table
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.live import live

_EVERY_SECONDS = 2.0


def render() -> None:
    """The whole view; it follows what is under way."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header("Changes", anchor=False, width="content")
        status = st.container(width="stretch")
    with status:
        live("changes", _status, is_quiet=True)
    live("changes", _body, _EVERY_SECONDS)
    change_dialogs.draw_asked()


def _status() -> None:
    now = time.time()
    rows, age = change_reads.changes_view(now), queries.data_age(now)
    open_ones = sum(row.ended_at is None for row in rows)
    words = f"{open_ones} not over" if open_ones else "none is open"
    st.caption(escaped(f"{words} · {age.words}"))


def _body() -> None:
    now, colors = time.time(), palette.current()
    asked = st.query_params.get("change", "")
    if asked.isdecimal():
        draw_change(change_reads.opened_change(int(asked), now), colors)
        return
    rows = change_reads.changes_view(now)
    if not rows and not queries.fleet().endpoints:
        no_endpoints()
        return
    draw_table(rows, colors, now, with_endpoint=True)
