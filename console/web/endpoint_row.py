"""The title row of a view about one endpoint and no window: its name, the selector, whose it is and how old it is."""

from __future__ import annotations

import time

import streamlit as st

from console import change_reads, queries
from console.web.empty import no_endpoints
from console.web.escape import escaped
from console.web.live import live, tell
from console.web.pick import chosen, pick, tell_if_gone
from console.words import backend_words
from tierdeck.errors import TierdeckError


def endpoint_row(title: str) -> tuple[str, str] | None:
    """Draw it; the endpoint (cluster, name) that is chosen. None: there is none, or it can't be told, which is said."""
    try:
        known = queries.fleet().endpoints
    except TierdeckError as error:
        st.header(title, anchor=False)
        tell(error)
        return None
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.header(title, anchor=False, width="content")
        if known:
            pick(known)
        status = st.container(width="stretch")
    if not known:
        no_endpoints()
        return None
    tell_if_gone(known)
    whose = chosen(known)
    with status:
        live(title.lower(), lambda: _status(whose), is_quiet=True)
    return whose


def _status(whose: tuple[str, str]) -> None:
    now = time.time()
    page, age = change_reads.offers_view(whose, now), queries.data_age(now)
    st.caption(escaped(" · ".join(filter(None, (backend_words(page.backend), age.words)))))
