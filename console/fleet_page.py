"""The Fleet view's content: the whole fleet's story, and one row per endpoint."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from console.alert_marks import Stretch, alert_stretches, maintenance_stretches, merged
from console.change_words import is_proved
from console.deployment import lasting_drift, owner_words
from console.moments import Moment, event_rows, moments
from console.note_lines import note_lines
from console.segments import Segment, segments
from console.story import Span, Story, tell
from console.totals import EndpointSummary
from console.trends import Trend, trend
from console.words import GLYPHS, quantile_of, quantile_words, ratio_words
from tierdeck.account import worst_first
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence
from tierdeck.changes.proof import Proof
from tierdeck.deployed import Deployed
from tierdeck.fleet import Endpoint


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """One endpoint in the table; trends run over the window.

    Attributes:
        hit_percent: None: unknown; `hit_words` say so in short, `why` in full.
        state_rank: the worst state first.
        strategy: as configured; "": not told.
        owners: what else writes to its deployment; "": nothing, or not told.
        drift: what runs otherwise than configured, in short; `drift_words` in full; "": nothing.
        is_proved: a probe showed that requests are routed by that strategy.
        ttft_seconds: p95, or the least that it can be; None: unknown.
    """

    cluster: str
    name: str
    state: str
    state_rank: int
    model: str
    replicas: str
    strategy: str
    hit_percent: float | None
    hit_words: str
    why: str
    segments: tuple[Segment, ...]
    hit_trend: Trend
    ttft_p95: str
    ttft_seconds: float | None
    ttft_trend: Trend
    notes: int
    owners: str = ""
    drift: str = ""
    drift_words: str = ""
    is_proved: bool = False


@dataclass(frozen=True, slots=True)
class FleetPage:
    """`clusters` and `scope` are for the title row."""

    scope: str
    clusters: tuple[str, ...]
    story: Story
    rows: tuple[EndpointRow, ...]
    moments: tuple[Moment, ...] = ()
    events: pd.DataFrame = field(default_factory=pd.DataFrame)
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class Happening:
    """What is told beside the figures: events are those that matter, of the window and the latest; alerts are those of
    the window; silences are all; proofs are the last ones of (cluster, endpoint).
    """

    events: pd.DataFrame
    latest: pd.DataFrame
    deployed: Sequence[Deployed] = ()
    alerts: Sequence[Alert] = ()
    silences: Sequence[Silence] = ()
    proofs: Mapping[tuple[str, str], Proof] = field(default_factory=dict)


def fleet_page(
    span: Span,
    known: Sequence[Endpoint],
    parts: Sequence[EndpointSummary],
    series: tuple[pd.DataFrame, pd.DataFrame],
    happening: Happening,
) -> FleetPage:
    """From what the store told.

    Args:
        series: by endpoint, and of the total.
    """
    by_endpoint, whole = (span.cut(one) for one in series)
    of = {(cluster, name): some for (cluster, name), some in by_endpoint.groupby(["cluster", "endpoint"])}
    declared = {(endpoint.cluster, endpoint.name): endpoint for endpoint in known}
    deployed = {(one.cluster, one.endpoint): one for one in happening.deployed if not one.is_pool}
    rows = tuple(
        _with_deployed(_row(part, declared, of.get(_key(part), by_endpoint.iloc[:0]), span), deployed.get(_key(part)))
        for part in parts
    )
    rows = tuple(
        replace(row, is_proved=is_proved(happening.proofs.get((row.cluster, row.name)), row.strategy)) for row in rows
    )
    clusters = tuple(sorted({part.accounts.cluster for part in parts}))
    replicas = sum(len(part.replicas) for part in parts)
    counts = [_some(clusters), _count(len(parts), "endpoint"), _count(replicas, "replica")] if parts else []
    scope = " · ".join(counts)
    story = tell(span, parts, by_endpoint, whole)
    edges = span.start_at, span.end_at
    windows = maintenance_stretches(happening.silences, *edges, list(declared))
    stretches = (*alert_stretches(happening.alerts, *edges, happening.silences), *windows)
    marks = moments(span, happening.events, stretches=stretches, is_fleet=True)
    return FleetPage(scope, clusters, story, rows, marks, event_rows(happening.latest, span.end), merged(stretches))


ORDERS: Mapping[str, Callable[[EndpointRow], float]] = {
    "as declared": lambda row: 0.0,
    "worst state": lambda row: row.state_rank,
    "lowest hit ratio": lambda row: math.inf if row.hit_percent is None else row.hit_percent,
    "slowest": lambda row: math.inf if row.ttft_seconds is None else -row.ttft_seconds,
}
"""Ways to sort the table; what is unknown comes last."""


def replica_words(part: EndpointSummary) -> str:
    """`3`, or `2 of 3 readable`."""
    many = len(part.replicas)
    return str(many) if part.readable == many else f"{part.readable} of {many} readable"


def model_words(part: EndpointSummary, declared: Endpoint | None) -> str:
    """The served model; the configured one where none was seen."""
    return ", ".join(part.accounts.models) or (declared.model if declared else "") or "not known"


def _row(
    part: EndpointSummary, declared: Mapping[tuple[str, str], Endpoint], series: pd.DataFrame, span: Span
) -> EndpointRow:
    endpoint, whole, ratio = declared.get(_key(part)), part.whole, part.whole.tiers.by_token
    p95 = quantile_of(whole.ttft, whole.ttft_reason, 0.95)
    edges = span.start_at, span.end_at
    return EndpointRow(
        cluster=part.accounts.cluster,
        name=part.accounts.endpoint,
        state=f"{GLYPHS[whole.state]} {whole.state}",
        state_rank=worst_first(whole.state),
        model=model_words(part, endpoint),
        replicas=replica_words(part),
        strategy=endpoint.strategy if endpoint else "",
        hit_percent=None if ratio.value is None else 100 * ratio.value,
        hit_words=ratio_words(ratio),
        why=ratio.reason,
        segments=tuple(segments(part.pieces)),
        hit_trend=trend(series, "hit_ratio", *edges),
        ttft_p95=quantile_words(p95),
        ttft_seconds=p95.value if p95.at_least is None else p95.at_least,
        ttft_trend=trend(_at_least(series), "ttft_p95", *edges, worst=True),
        notes=len(note_lines([part])),
    )


def _with_deployed(row: EndpointRow, one: Deployed | None) -> EndpointRow:
    if one is None:
        return row
    drift = lasting_drift(one)
    return replace(
        row,
        strategy=row.strategy or one.configured.strategy.value,
        owners=", ".join(owner_words(owner) for owner in one.owners),
        drift=", ".join(drift),
        drift_words="; ".join(f"{what}: {wanted} configured, {runs} runs" for what, (wanted, runs) in drift.items()),
    )


def _at_least(series: pd.DataFrame) -> pd.DataFrame:
    """p95, and the last bound where it lies beyond it."""
    return series.assign(ttft_p95=series["ttft_p95"].fillna(series["ttft_p95_low"]))


def _key(part: EndpointSummary) -> tuple[str, str]:
    return part.accounts.cluster, part.accounts.endpoint


def _some(clusters: Sequence[str]) -> str:
    return ", ".join(clusters) if len(clusters) <= 3 else f"{len(clusters)} clusters"


def _count(many: int, word: str) -> str:
    return f"{many} {word}{'' if many == 1 else 's'}"
