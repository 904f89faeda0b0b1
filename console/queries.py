"""What the views ask of the store; here and in `console.alert_queries` answers are kept, and nowhere else.

Answers are shared by all who look: the keys are plain, and a window's end is a whole number of its
steps, so that a thousand viewers cost what one costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from console.admin_page import AdminPage, Told, admin_page, kept_seconds
from console.cluster_part import blind_words
from console.endpoint_page import EndpointPage, endpoint_page
from console.endpoint_page import Told as EndpointTold
from console.fleet_page import FleetPage, Happening, fleet_page
from console.measures import query_time
from console.moments import MARKED_FOR_FLEET
from console.story import Span
from console.totals import EndpointSummary, summarize_endpoint
from console.windows import DEFAULT, WINDOWS
from console.words import Freshness, backfill_words, freshness, trouble_words
from db import BlindPart, Store
from tierdeck.backfill import Backfill
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL, Endpoint
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings, load_settings

_TTL_SECONDS = 120
_STATUS_TTL_SECONDS = 2
LEAST_REFRESH_SECONDS = 5.0
_MOST_RAW_REPLICAS = 8
_MOST_EVENTS = 2000
_LATEST_EVENTS = 30
_DAY_SECONDS = 86400.0
_PROVED_SECONDS = 30 * _DAY_SECONDS
"""A window ends at a whole step; the latest events are those up to now. No proof that is older stands in the table."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The inventory in brief: (cluster, endpoint) in the order declared."""

    endpoints: tuple[tuple[str, str], ...]

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cluster for cluster, _ in self.endpoints))


def fleet_view(window: str, now: float) -> FleetPage:
    """The Fleet view over a window of `WINDOWS`.

    Raises:
        TierdeckError: the store can't be read; so for all queries here.
    """
    return _fleet(store_url(), window, _ends_at(window, now))


def endpoint_view(cluster: str, endpoint: str, window: str, now: float) -> EndpointPage:
    """The Endpoint view.

    Raises:
        UsageError: there is no such endpoint.
    """
    return _endpoint(store_url(), cluster, endpoint, window, _ends_at(window, now))


def admin_view(now: float) -> AdminPage:
    """The Admin view."""
    return _admin(store_url(), _ends_at(DEFAULT, now))


def refresh_seconds(window: str = DEFAULT) -> float:
    """How often to look anew: twice while an answer lasts, so that a new one is seen soon."""
    return max(LEAST_REFRESH_SECONDS, WINDOWS[window].step(load_settings().scrape_interval_seconds) / 2)


def fleet() -> Fleet:
    """Which endpoints there are."""
    return _inventory(store_url())


def data_age(now: float) -> Freshness:
    """How old the newest round is."""
    return freshness(_last_at(store_url()), now, load_settings().stale_after_seconds)


def filling_in(now: float) -> Freshness | None:
    """What is said of the past that is being filled in, if it is."""
    return backfill_words(_backfills(store_url()), now)


def trouble(now: float) -> Freshness | None:
    """What keeps a process from its work, if anything does."""
    return trouble_words(_processes(store_url()), now)


def blindness() -> Freshness | None:
    """What is said of parts of a cluster that can't be seen, if there are any."""
    return blind_words(_blind(store_url()))


def store_answers() -> float | None:
    """Ask the store something small, uncached: the newest round's instant."""
    return open_store(store_url()).last_at()


def _ends_at(window: str, now: float) -> float:
    return WINDOWS[window].ends_at(now, load_settings().scrape_interval_seconds)


def store_url() -> str:
    """Where the store is; may hold a password."""
    return load_settings().store_url


@st.cache_resource(show_spinner=False, max_entries=8)
def open_store(url: str) -> Store:
    """One open store per process; a failure is not remembered."""
    return Store.open(url)


@st.cache_data(ttl=_STATUS_TTL_SECONDS, max_entries=8, show_spinner=False)
def _last_at(url: str) -> float | None:
    with query_time("data_age"):
        return open_store(url).last_at()


@st.cache_data(ttl=_STATUS_TTL_SECONDS, max_entries=8, show_spinner=False)
def _processes(url: str) -> pd.DataFrame:
    with query_time("processes"):
        return open_store(url).processes()


@st.cache_data(ttl=_STATUS_TTL_SECONDS, max_entries=8, show_spinner=False)
def _backfills(url: str) -> list[Backfill]:
    with query_time("backfills"):
        return open_store(url).backfills()


@st.cache_data(ttl=_STATUS_TTL_SECONDS, max_entries=8, show_spinner=False)
def _blind(url: str) -> list[BlindPart]:
    with query_time("blind"):
        return open_store(url).blind()


@st.cache_data(ttl=_STATUS_TTL_SECONDS, max_entries=8, show_spinner=False)
def _inventory(url: str) -> Fleet:
    with query_time("inventory"):
        return Fleet(tuple((endpoint.cluster, endpoint.name) for endpoint in open_store(url).endpoints()))


@st.cache_data(ttl=_TTL_SECONDS, max_entries=32, show_spinner=False)
def _fleet(url: str, window: str, end_at: float) -> FleetPage:
    store, settings = open_store(url), load_settings()
    with query_time("fleet"):
        known = store.endpoints()
        span = _span(store, known, window, end_at)
        parts = _summaries(store, settings, span)
        whose = span.start_at, span.end_at, span.resolution
        by_endpoint = store.endpoint_series(*whose)
        whole = by_endpoint if len(known) == 1 else store.endpoint_series(*whose, total=True)
        events = store.events(span.start_at, span.end_at, kinds=MARKED_FOR_FLEET, limit=_MOST_EVENTS)
        latest = store.events(0.0, span.end_at + _DAY_SECONDS, kinds=MARKED_FOR_FLEET, limit=_LATEST_EVENTS)
        alerts = store.alerts(span.start_at, span.end_at)
        proofs = {
            whose[:2]: whose[2] for whose in store.proofs(span.end_at - _PROVED_SECONDS, span.end_at + _DAY_SECONDS)
        }
        happening = Happening(events, latest, store.deployed(), alerts, store.silences(), proofs)
    return fleet_page(span, known, parts, (by_endpoint, whole), happening)


@st.cache_data(ttl=_TTL_SECONDS, max_entries=128, show_spinner=False)
def _endpoint(url: str, cluster: str, endpoint: str, window: str, end_at: float) -> EndpointPage:
    store, settings = open_store(url), load_settings()
    with query_time("endpoint"):
        known = [one for one in store.known_endpoints(cluster) if one.name == endpoint]
        span = _span(store, known, window, end_at)
        parts = _summaries(store, settings, span, cluster, endpoint)
        if not parts or not known:
            raise UsageError(f"there is no endpoint {endpoint!r} in cluster {cluster!r}", "Choose one from the list.")
        whose = span.start_at, span.end_at, span.resolution, cluster, endpoint
        owners = (endpoint, POOL)
        told = EndpointTold(
            whole=store.endpoint_series(*whose),
            by_replica=store.replica_series(*whose),
            salts=store.salt_counts(span.start_at, span.end_at, cluster, endpoint),
            events=store.events(span.start_at, span.end_at, cluster, owners, limit=_MOST_EVENTS),
            latest=store.events(0.0, span.end_at + _DAY_SECONDS, cluster, owners, limit=_LATEST_EVENTS),
            deployed=next((one for one in store.deployed(cluster) if one.endpoint == endpoint), None),
            pools=store.pool_now(cluster),
            alerts=[one for one in store.alerts(span.start_at, span.end_at, cluster) if one.subject.endpoint in owners],
            silences=store.silences(),
            proof=store.last_proof(cluster, endpoint),
        )
    return endpoint_page(span, known[0], parts[0], told)


@st.cache_data(ttl=_TTL_SECONDS, max_entries=8, show_spinner=False)
def _admin(url: str, now: float) -> AdminPage:
    store = open_store(url)
    with query_time("admin"):
        listed = store.target_status(), store.processes(), store.sizes(), store.audit()
        told = Told(*listed, store.sighted(), store.blind(), store.nodes())
    return admin_page(told, url, kept_seconds(load_settings()), now)


def _span(store: Store, known: Sequence[Endpoint], name: str, end_at: float) -> Span:
    """Raw rows are summed as they are read: beyond a few replicas the minutes are taken, which are summed already."""
    window, last_at = WINDOWS[name], store.last_at()
    start_at = end_at - window.seconds
    resolution = window.resolution
    if resolution is Resolution.RAW and sum(len(endpoint.replicas) for endpoint in known) > _MOST_RAW_REPLICAS:
        resolution = Resolution.MINUTE
    return Span(window, resolution, start_at, end_at, start_at if last_at is None else last_at)


def _summaries(
    store: Store, settings: Settings, span: Span, cluster: str | None = None, endpoint: str | None = None
) -> list[EndpointSummary]:
    stale = settings.stale_after_seconds
    accounts = store.accounts(span.start_at, span.end_at, cluster, endpoint, stale_after_seconds=stale)
    return [summarize_endpoint(one, settings.warming) for one in accounts]
