"""What the views about changes ask of the store; answers are kept for a moment and shared by all who look."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from console.change_queries import ChangeDetail, ChangeRow, EndpointOffers, change_detail, change_rows, offers
from console.measures import query_time
from console.queries import open_store, store_url
from db import Store

_TTL_SECONDS = 1.0
"""A change is followed step by step."""
_MOST_ROWS = 200
Done = TypeVar("Done")


def offers_view(whose: tuple[str, str], now: float) -> EndpointOffers:
    """What an endpoint (cluster, name) can be changed to.

    Raises:
        TierdeckError: there is no such endpoint, or the store can't be read; so for all of these.
    """
    return _offers(store_url(), whose, now // _TTL_SECONDS)


def changes_view(now: float, whose: tuple[str, str] | None = None, limit: int = _MOST_ROWS) -> tuple[ChangeRow, ...]:
    """The newest first; of one endpoint, or of all."""
    return _rows(store_url(), whose, now // _TTL_SECONDS, limit)


def opened_change(number: int, now: float) -> ChangeDetail:
    """One change with its history."""
    return _opened(store_url(), number, now // _TTL_SECONDS)


def act(do: Callable[[Store], Done]) -> Done:
    """Do something, and forget what was known before it.

    Raises:
        TierdeckError: it can't be done.
    """
    done = do(open_store(store_url()))
    for cached in (_offers, _rows, _opened):
        cached.clear()
    return done


@st.cache_data(ttl=30, max_entries=64, show_spinner=False)
def _offers(url: str, whose: tuple[str, str], step: float) -> EndpointOffers:
    with query_time("offers"):
        return offers(open_store(url), *whose, step * _TTL_SECONDS)


@st.cache_data(ttl=30, max_entries=64, show_spinner=False)
def _rows(url: str, whose: tuple[str, str] | None, step: float, limit: int) -> tuple[ChangeRow, ...]:
    cluster, endpoint = whose if whose is not None else (None, None)
    with query_time("changes"):
        return change_rows(open_store(url), cluster, endpoint, limit)


@st.cache_data(ttl=30, max_entries=64, show_spinner=False)
def _opened(url: str, number: int, step: float) -> ChangeDetail:
    with query_time("change"):
        return change_detail(open_store(url), number, step * _TTL_SECONDS)
