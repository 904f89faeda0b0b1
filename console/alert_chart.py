"""The chart of an alert: which series shows what its rule looks at, over which time, at which resolution."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from console.alert_words import expected_name, rule_of
from tierdeck.alerts.alert import Alert
from tierdeck.fleet import POOL
from tierdeck.resolution import Resolution

_BEFORE_SECONDS = 3600.0
_AFTER_SECONDS = 900.0
_LONGEST_SECONDS = 7 * 86400.0
_MINUTES_ARE_KEPT_SECONDS = 14 * 86400.0
"""Older than this, minutes may be pruned."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is drawn.

    Attributes:
        question: the chart's title.
        name: of the line.
        over, under: the line is one column of the series, divided by the other unless that is "".
        is_share: of 0 to 1.
        is_pool: from the pools' series, not from the endpoints'.
        shows_expected: the alert's `expected` is in the line's unit.
        how: how the line is computed.
    """

    question: str
    name: str
    over: str
    under: str = ""
    is_share: bool = True
    is_pool: bool = False
    shows_expected: bool = False
    how: str = ""


@dataclass(frozen=True, slots=True)
class AlertChart:
    """Complete; `series` has `at`, `width_seconds`, `value`. `expected`, called `held_against`; None: not drawn.

    Attributes:
        start, end: edges of the chart.
        began, ended: since when and until when it was bad; `ended` is the chart's end while it is.
    """

    plan: Plan
    series: pd.DataFrame
    start: pd.Timestamp
    end: pd.Timestamp
    began: pd.Timestamp
    ended: pd.Timestamp
    is_firing: bool
    expected: float | None = None
    held_against: str = "usual"
    happened: pd.DataFrame = field(default_factory=pd.DataFrame)


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """Edges in epoch seconds, and how finely to read."""

    start_at: float
    end_at: float
    resolution: Resolution


_HITS = Plan(
    "Which share came from a cache around then?", "hit ratio, by token", "hit_ratio", shows_expected=True,
    how="Tokens from L0, L1 and L2 over prompt tokens, of each minute or coarser bucket; the dashed line is what the "
    "alert held it against.",
)  # fmt: skip
_CONTEXT = Plan(
    "Which share came from a cache meanwhile?", "hit ratio, by token", "hit_ratio",
    how="The rule's own figure is not kept over time: this is the hit ratio of the same endpoint.",
)  # fmt: skip
_TTFT = Plan(
    "How long until the first token around then?", "TTFT p95", "ttft_p95", is_share=False,
    how="95th percentile of each bucket, in seconds; a hole where it lies beyond the last bound or nobody asked.",
)  # fmt: skip
_WORKERS = Plan(
    "How many of the pool's workers live?", "live workers", "live", is_share=False, is_pool=True,
    how="As the pool's master tells it.",
)  # fmt: skip
_FILLED = Plan(
    "How full is the pool?", "used", "used_bytes", "capacity_bytes", is_pool=True,
    how="Used bytes over capacity, as the pool's master tells both.",
)  # fmt: skip
_WAITING = Plan(
    "How many requests wait?", "waiting requests", "waiting", is_share=False,
    how="Sum over the endpoint's replicas; requests that wait for the cache are among them.",
)  # fmt: skip
_READABLE = Plan(
    "How many replicas could be read?", "readable replicas", "readable", is_share=False,
    how="Replicas whose scrape told figures, of each bucket.",
)  # fmt: skip
_TIERS = {
    tier: Plan(
        f"Which share did {tier} serve around then?", f"{tier}'s share", tier.lower(), "prompt_tokens",
        shows_expected=True, how=f"Tokens from {tier} over prompt tokens; the dashed line is what the alert held it "
        "against.",
    )
    for tier in ("L0", "L1", "L2")
}  # fmt: skip
_BY_RULE = {
    "hit_ratio_drop": _HITS, "hit_ratio_drift": _HITS, "hit_ratio_floor": _HITS, "ttft_burn": _TTFT,
    "pool_filling": _FILLED, "pool_full": _FILLED, "requests_deferred": _WAITING, "no_data": _READABLE,
}  # fmt: skip


def plan_of(alert: Alert) -> Plan | None:
    """None: there is nothing to draw, since the alert is about no endpoint and no pool."""
    subject = alert.subject
    if not subject.endpoint:
        return None
    if subject.endpoint == POOL:
        return _FILLED if alert.rule in ("pool_filling", "pool_full") else _WORKERS
    if alert.rule == "tier_drop":
        return _TIERS.get(subject.part, _CONTEXT)
    if alert.rule == "l2_outage":
        return _TIERS["L2"]
    return _BY_RULE.get(alert.rule, _CONTEXT)


def chart_span(alert: Alert, now: float) -> ChartSpan:
    """An hour before it began until a while after it ended, or now; at most seven days, never finer than minutes."""
    ended = now if alert.is_open or alert.resolved_at is None else min(now, alert.resolved_at + _AFTER_SECONDS)
    start = max(alert.pending_at - _BEFORE_SECONDS, ended - _LONGEST_SECONDS)
    end = max(ended, start + 2 * _AFTER_SECONDS)
    resolution = Resolution.for_window(end - start)
    if resolution is Resolution.RAW:
        resolution = Resolution.MINUTE
    if now - start > _MINUTES_ARE_KEPT_SECONDS and resolution is Resolution.MINUTE:
        resolution = Resolution.TEN_MINUTES
    return ChartSpan(start, end, resolution)


def alert_chart(alert: Alert, plan: Plan, span: ChartSpan, series: pd.DataFrame, happened: pd.DataFrame) -> AlertChart:
    """From what the store told.

    Args:
        series: as `Store.endpoint_series` or `pool_series`, of this endpoint or pool.
        happened: as `Store.events`.
    """
    values = series[plan.over].astype("float64") if len(series) else pd.Series(dtype="float64")
    if plan.under and len(series):
        values = values / series[plan.under].where(series[plan.under] > 0)
    width = float(span.resolution.value)
    rows = pd.DataFrame({"at": series["at"], "width_seconds": width, "value": values})
    rule = rule_of(alert)
    is_told = plan.shows_expected and rule is not None and rule.unit == "ratio"
    ended = span.end_at if alert.is_open or alert.resolved_at is None else alert.resolved_at
    return AlertChart(
        plan, rows, _utc(span.start_at), _utc(span.end_at), _utc(max(alert.pending_at, span.start_at)), _utc(ended),
        is_firing=alert.is_open, expected=alert.expected if is_told else None, held_against=expected_name(alert),
        happened=happened,
    )  # fmt: skip


def _utc(at: float) -> pd.Timestamp:
    """In milliseconds, as charts take it."""
    return pd.Timestamp(round(1000 * at), unit="ms", tz="UTC")
