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
from console.web.endpoint_row import endpoint_row
from console.web.live import live, tell
from console.web.resize_form import draw_form
from console.windows import DEFAULT
from tierdeck.errors import TierdeckError

_EVERY_SECONDS = 5.0


def render() -> None:
    """The whole view; what is measured stays up to date, the form stays as it is typed."""
    whose = endpoint_row("Tiers")
    if whose is None:
        return
    live("tiers", lambda: _sizes(whose), _EVERY_SECONDS)
    try:
        draw_form(change_reads.offers_view(whose, time.time()))
    except TierdeckError as error:
        tell(error)
    live("tiers", lambda: _lately(whose), _EVERY_SECONDS, is_quiet=True)
    change_dialogs.draw_asked()


def _sizes(whose: tuple[str, str]) -> None:
    now = time.time()
    draw_strip(palette.current(), whose)
    draw_open(change_reads.offers_view(whose, now).open_change, palette.current())
    draw_deployment(queries.endpoint_view(*whose, DEFAULT, now).deployment)


def _lately(whose: tuple[str, str]) -> None:
    now = time.time()
    st.subheader("What was changed lately?", anchor=False)
    draw_table(change_reads.changes_view(now, whose, 8), palette.current(), now, with_endpoint=False)
