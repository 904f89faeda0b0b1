"""Routing: which strategy, and is it really in effect?"""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads, queries
from console.web import change_dialogs, palette
from console.web.alert_strip import draw_strip
from console.web.change_parts import draw_open
from console.web.change_table import draw_table
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.live import live, tell
from console.web.pick import chosen, pick, tell_if_gone
from console.web.strategy_cards import draw_cards, draw_evidence
from console.words import backend_words
from tierdeck.errors import TierdeckError

_EVERY_SECONDS = 3.0


def render() -> None:
    """The whole view; it stays up to date."""
    try:
        known = queries.fleet().endpoints
    except TierdeckError as error:
        st.header("Routing", anchor=False)
        tell(error)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header("Routing", anchor=False, width="content")
        if known:
            pick(known)
        status = st.container(width="stretch")
    if not known:
        no_endpoints()
        return
    tell_if_gone(known)
    whose = chosen(known)
    with status:
        live("routing", lambda: _status(whose), is_quiet=True)
    live("routing", lambda: _body(whose), _EVERY_SECONDS)
    change_dialogs.draw_asked()


def _status(whose: tuple[str, str]) -> None:
    now = time.time()
    page, age = change_reads.offers_view(whose, now), queries.data_age(now)
    st.caption(escaped(" · ".join(filter(None, (backend_words(page.backend), age.words)))))


def _body(whose: tuple[str, str]) -> None:
    now, colors = time.time(), palette.current()
    page = change_reads.offers_view(whose, now)
    draw_strip(colors, whose)
    draw_open(page.open_change, colors)
    draw_cards(page, colors)
    draw_evidence(page)
    st.subheader("What was changed lately?", anchor=False)
    draw_table(change_reads.changes_view(now, whose, 8), colors, now, with_endpoint=False)
