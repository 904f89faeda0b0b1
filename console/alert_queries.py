"""What the pages ask about alerts and do about them; answers are kept as in `console.queries`, until somebody acts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from console import commands
from console.alert_card import AlertCard, alert_card
from console.alert_chart import AlertChart, alert_chart, chart_span, plan_of
from console.alert_reads import alert_of, judged_by, judged_rules, shift
from console.alerts_page import LOOK_BACK_SECONDS, AlertsPage, Told, alerts_page
from console.channel_rows import outcome_words
from console.handover import handover
from console.measures import query_time
from console.queries import open_store, store_url
from console.rule_rows import RuleRow
from console.words import clock
from db import Store
from tierdeck.fleet import POOL
from tierdeck.settings import load_settings

_TTL_SECONDS = 2
_SLOW_TTL_SECONDS = 30
_MINUTE = 60.0
_MOST_EVENTS = 500
_OF_POOLS = ("live", "used_bytes", "capacity_bytes")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Opened:
    """One alert with its own history; steps and sendings are (when, words), the oldest first."""

    card: AlertCard
    steps: tuple[tuple[str, str], ...]
    sendings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """An alert that fires, for the strip on other views."""

    id: int
    endpoint: str
    severity: str
    title: str
    whom: str
    since: str
    is_acknowledged: bool


def alerts_view(now: float) -> AlertsPage:
    """The Alerts view.

    Raises:
        TierdeckError: the store can't be read; so for all queries here.
    """
    return _page(store_url(), now // _TTL_SECONDS)


def opened(alert_id: int, now: float) -> Opened:
    """One alert.

    Raises:
        UsageError: there is none with that number.
    """
    return _opened(store_url(), alert_id, now // _TTL_SECONDS)


def chart_of(alert_id: int, now: float) -> AlertChart | None:
    """The chart of an alert; None: there is nothing to draw."""
    return _chart(store_url(), alert_id, now // _SLOW_TTL_SECONDS)


def rules(now: float) -> tuple[RuleRow, ...]:
    """Every rule, and whether it can judge."""
    return _rules(store_url(), now // _MINUTE)


def shift_summary(hours: float, now: float) -> dict[str, Any]:
    """What `console.handover` makes of the last hours."""
    return _handover(store_url(), hours, now // _SLOW_TTL_SECONDS)


def briefs(now: float, endpoint: tuple[str, str] | None = None) -> tuple[Brief, ...]:
    """What fires and is said, the most urgent first.

    Args:
        endpoint: cluster and name: only of this endpoint, and of its cluster's pools.
    """
    page = alerts_view(now)
    owners = set() if endpoint is None else {endpoint, (endpoint[0], POOL)}
    return tuple(
        Brief(one.id, one.labels.get("endpoint", ""), one.severity, one.title, one.whom, one.since,
              bool(one.acknowledged))
        for one in page.firing
        if endpoint is None or (one.cluster, one.labels.get("endpoint", "")) in owners
    )  # fmt: skip


def under_maintenance(now: float, endpoint: tuple[str, str]) -> str:
    """Until when, why and by whom the endpoint is; "": it is not."""
    wanted = {"cluster": endpoint[0], "endpoint": endpoint[1]}
    for row in alerts_view(now).silences:
        if row.is_maintenance and row.is_active and row.matchers.items() <= wanted.items():
            return f"{row.when} · {row.by}: {row.why}"
    return ""


def act(do: Callable[[Store], Done]) -> Done:
    """Do something, and forget what was known before it.

    Raises:
        UsageError: it can't be done.
    """
    done = do(open_store(store_url()))
    for cached in (_page, _opened, _handover):
        cached.clear()
    return done


def default_name() -> str:
    """Who a form takes to be acting: on a console for this machine alone, its user."""
    is_local = load_settings().console_address in ("127.0.0.1", "localhost", "::1")
    return commands.this_user() if is_local else ""


@st.cache_data(ttl=60, max_entries=8, show_spinner=False)
def _page(url: str, step: float) -> AlertsPage:
    store, now = open_store(url), step * _TTL_SECONDS
    with query_time("alerts"):
        told = Told(
            open=store.open_alerts(),
            lately=store.alerts(now - LOOK_BACK_SECONDS, now + 2 * _TTL_SECONDS),
            silences=store.silences(now),
            trouble=judged_by(store, now).trouble,
            channels=store.channels(),
            notices=store.notices(),
        )
    return alerts_page(told, now)


@st.cache_data(ttl=60, max_entries=32, show_spinner=False)
def _opened(url: str, alert_id: int, step: float) -> Opened:
    store, now = open_store(url), step * _TTL_SECONDS
    with query_time("alert"):
        one = alert_of(store, alert_id)
        steps, sendings = store.alert_steps(alert_id), store.notices(alert_id=alert_id)
        silences, others = store.silences(now), store.open_alerts()
    return Opened(
        alert_card(one, silences, now, others),
        tuple((clock(at, now), f"{what}: {why}" if why else what) for at, what, why in steps),
        tuple((clock(each.created_at, now), f"{each.channel}: {outcome_words(each, now)}")
              for each in reversed(sendings)),
    )  # fmt: skip


@st.cache_data(ttl=120, max_entries=64, show_spinner=False)
def _chart(url: str, alert_id: int, step: float) -> AlertChart | None:
    store, now = open_store(url), step * _SLOW_TTL_SECONDS
    with query_time("alert_chart"):
        alert = alert_of(store, alert_id)
        plan = plan_of(alert)
        if plan is None:
            return None
        span, subject = chart_span(alert, now), alert.subject
        when = span.start_at, span.end_at, span.resolution
        if plan.is_pool:
            series = store.pool_series(*when, subject.cluster)
            own = series[series["pool"] == subject.part] if subject.part else series
            series = own.groupby("at", as_index=False)[list(_OF_POOLS)].sum(min_count=1)
        else:
            series = store.endpoint_series(*when, subject.cluster, subject.endpoint)
        owners = (subject.endpoint, POOL)
        events = store.events(span.start_at, span.end_at, subject.cluster, owners, limit=_MOST_EVENTS)
    return alert_chart(alert, plan, span, series, events)


@st.cache_data(ttl=120, max_entries=8, show_spinner=False)
def _rules(url: str, step: float) -> tuple[RuleRow, ...]:
    with query_time("rules"):
        return judged_rules(open_store(url), step * _MINUTE, load_settings().stale_after_seconds)


@st.cache_data(ttl=120, max_entries=8, show_spinner=False)
def _handover(url: str, hours: float, step: float) -> dict[str, Any]:
    now = step * _SLOW_TTL_SECONDS
    with query_time("handover"):
        return handover(shift(open_store(url), now - hours * 3600, now, load_settings().stale_after_seconds))
