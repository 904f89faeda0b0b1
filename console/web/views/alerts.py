"""Alerts: what is wrong, since when, why?"""

from __future__ import annotations

import time

import streamlit as st

from console import alert_queries, queries
from console.alerts_page import AlertsPage
from console.web import palette
from console.web.alert_cards import draw_card, draw_opened
from console.web.alert_dialogs import draw_asked
from console.web.alert_lists import (
    draw_channels,
    draw_handover,
    draw_lists,
    draw_more,
    draw_rules,
    draw_silences,
    draw_trouble,
    no_alert,
)
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.live import live
from console.web.parts import draw_numbers

_MOST_CARDS = 8
"""More alerts that fire stand in a line each."""


def render() -> None:
    """The whole view; it stays up to date."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header("Alerts", anchor=False, width="content")
        status = st.container(width="stretch")
    with status:
        live("alerts", _status, is_quiet=True)
    live("alerts", _body)
    draw_asked()


def _status() -> None:
    now = time.time()
    page, age = alert_queries.alerts_view(now), queries.data_age(now)
    fires = len(page.firing)
    words = f"{fires} fire{'s' if fires == 1 else ''}" if fires else "nothing fires"
    st.caption(escaped(f"{words if not page.trouble or fires else 'nothing is judged'} · {age.words}"))


def _body() -> None:
    now, colors = time.time(), palette.current()
    asked = st.query_params.get("alert", "")
    if asked.isdecimal():
        draw_opened(alert_queries.opened(int(asked), now), colors)
        return
    page = alert_queries.alerts_view(now)
    has_endpoints = bool(queries.fleet().endpoints)
    draw_trouble(page)
    if not has_endpoints and not page.firing:
        no_endpoints()
    else:
        _alerts(page, colors)
    draw_lists(page, colors)
    left, right = st.columns(2, gap="large")
    with left:
        draw_silences(page.silences, colors, has_endpoints=has_endpoints)
    with right:
        draw_channels(page.channels, colors, is_sending=not page.trouble)
    draw_handover(now)
    draw_rules(alert_queries.rules(now), colors)


def _alerts(page: AlertsPage, colors: palette.Palette) -> None:
    draw_numbers(page.headlines)
    if not page.firing:
        no_alert(page)
    for card in page.firing[:_MOST_CARDS]:
        draw_card(card, colors)
    if page.firing[_MOST_CARDS:]:
        draw_more(page.firing[_MOST_CARDS:], colors)
