"""Routing: which strategy, and is it really in effect?"""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads
from console.web import change_dialogs, palette
from console.web.alert_strip import draw_strip
from console.web.change_parts import draw_open
from console.web.change_table import draw_table
from console.web.endpoint_row import endpoint_row
from console.web.live import live
from console.web.strategy_cards import draw_cards, draw_evidence

_EVERY_SECONDS = 3.0


def render() -> None:
    """The whole view; it stays up to date."""
    whose = endpoint_row("Routing")
    if whose is None:
        return
    live("routing", lambda: _body(whose), _EVERY_SECONDS)
    change_dialogs.draw_asked()


def _body(whose: tuple[str, str]) -> None:
    now, colors = time.time(), palette.current()
    page = change_reads.offers_view(whose, now)
    draw_strip(colors, whose)
    draw_open(page.open_change, colors)
    draw_cards(page, colors)
    draw_evidence(page)
    st.subheader("What was changed lately?", anchor=False)
    draw_table(change_reads.changes_view(now, whose, 8), colors, now, with_endpoint=False)
