"""What the L2 pool view asks of the store; answers are kept as in `console.queries`."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from console.measures import query_time
from console.pool_figures import pool_keys, pool_name, read_pool
from console.pool_page import Around, PoolPage, pool_page
from console.queries import open_store, store_url
from console.story import Span
from console.windows import WINDOWS
from db import Store
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL, ReplicaKey
from tierdeck.settings import load_settings

_TTL_SECONDS = 120
_LIST_TTL_SECONDS = 2
_MOST_EVENTS = 2000
_LATEST_EVENTS = 30
_LAST_ROUNDS = 20
_DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """A pool that can be looked at."""

    cluster: str
    name: str


def pools() -> tuple[PoolChoice, ...]:
    """Which pools there are, by cluster and name.

    Raises:
        TierdeckError: the store can't be read; so for all queries here.
    """
    return _pools(store_url())


def pool_view(pool: PoolChoice, window: str, now: float) -> PoolPage:
    """The L2 pool view.

    Raises:
        UsageError: there is no such pool any more.
    """
    ends_at = WINDOWS[window].ends_at(now, load_settings().scrape_interval_seconds)
    return _pool(store_url(), pool.cluster, pool.name, window, ends_at)


@st.cache_data(ttl=_LIST_TTL_SECONDS, max_entries=8, show_spinner=False)
def _pools(url: str) -> tuple[PoolChoice, ...]:
    with query_time("pools"):
        return tuple(dict.fromkeys(PoolChoice(key.cluster, pool_name(key)) for key in pool_keys(open_store(url))))


@st.cache_data(ttl=_TTL_SECONDS, max_entries=32, show_spinner=False)
def _pool(url: str, cluster: str, name: str, window: str, end_at: float) -> PoolPage:
    store, settings = open_store(url), load_settings()
    with query_time("pool"):
        fitting = [key for key in pool_keys(store) if (key.cluster, pool_name(key)) == (cluster, name)]
        if not fitting:
            raise UsageError(f"there is no pool {name!r} in cluster {cluster!r}", "Choose one from the list.")
        key, chosen, last_at = fitting[0], WINDOWS[window], store.last_at()
        start_at = end_at - chosen.seconds
        span = Span(chosen, chosen.resolution, start_at, end_at, start_at if last_at is None else last_at)
        told = read_pool(store, key, (start_at, end_at), span.resolution)
        around = _around(store, key, span)
    return pool_page(span, told, around, settings.stale_after_seconds)


def _around(store: Store, key: ReplicaKey, span: Span) -> Around:
    edges = span.start_at, span.end_at
    found = store.events(*edges, key.cluster, key.endpoint, limit=_MOST_EVENTS)
    latest = store.events(0.0, span.end_at + _DAY_SECONDS, key.cluster, key.endpoint, limit=_LATEST_EVENTS)
    alerts = [
        one for one in store.alerts(*edges, key.cluster)
        if one.subject.endpoint == POOL and one.subject.part in ("", key.replica)
    ]  # fmt: skip
    runs = store.janitor_runs(key.cluster, pool_name(key), limit=_LAST_ROUNDS)
    told_of = store.janitor_pools(key.cluster)
    return Around(_own(found, key), _own(latest, key), alerts, store.silences(), runs, told_of)


def _own(events: pd.DataFrame, key: ReplicaKey) -> pd.DataFrame:
    """Those of this pool, of all of the cluster's."""
    return events[events["replica"].isin(["", key.replica])].reset_index(drop=True)
