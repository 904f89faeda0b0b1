"""Tiers: are the sizes right?"""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads, queries
from console.web import change_dialogs, palette
from console.web.alert_strip import draw_strip
from console.web.change_parts import draw_open
from console.web.change_table import draw_table
from console.web.deployment import draw_deployment
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.live import live, tell
from console.web.pick import chosen, pick, tell_if_gone
from console.web.resize_form import draw_form
from console.windows import DEFAULT
from tierdeck.errors import TierdeckError

_EVERY_SECONDS = 5.0


def render() -> None:
    """The whole view; what is measured stays up to date, the form stays as it is typed."""
    try:
        known = queries.fleet().endpoints
    except TierdeckError as error:
        st.header("Tiers", anchor=False)
        tell(error)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header("Tiers", anchor=False, width="content")
        if known:
            pick(known)
        status = st.container(width="stretch")
    if not known:
        no_endpoints()
        return
    tell_if_gone(known)
    whose = chosen(known)
    with status:
        live("tiers", _status, is_quiet=True)
    live("tiers", lambda: _sizes(whose), _EVERY_SECONDS)
    try:
        draw_form(change_reads.offers_view(whose, time.time()))
    except TierdeckError as error:
        tell(error)
    live("tiers", lambda: _lately(whose), _EVERY_SECONDS, is_quiet=True)
    change_dialogs.draw_asked()


def _status() -> None:
    st.caption(escaped(queries.data_age(time.time()).words))


def _sizes(whose: tuple[str, str]) -> None:
    now = time.time()
    draw_strip(palette.current(), whose)
    draw_open(change_reads.offers_view(whose, now).open_change, palette.current())
    draw_deployment(queries.endpoint_view(*whose, DEFAULT, now).deployment)


def _lately(whose: tuple[str, str]) -> None:
    now = time.time()
    st.subheader("What was changed lately?", anchor=False)
    draw_table(change_reads.changes_view(now, whose, 8), palette.current(), now, with_endpoint=False)
