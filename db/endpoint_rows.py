"""An endpoint's bucket as a row: the fleet's honest sum, written down once so that long charts only read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.parts import Part
from db.replica_windows import Replicas, put_together, summarize_bucket
from db.schema import ENDPOINT_FIGURES
from tierdeck.account import WarmingLimits
from tierdeck.histogram import Histogram
from tierdeck.summary import Summary


@dataclass(frozen=True, slots=True)
class EndpointBucket:
    """One endpoint in one bucket; `figures` by name of column, None: unknown."""

    cluster: str
    endpoint: str
    at: float
    ended_at: float
    rounds: int
    replicas: int
    readable: int
    figures: Mapping[str, float | None]
    ttft: Histogram | None


def endpoint_buckets(parts: Sequence[Part], limits: WarmingLimits) -> list[EndpointBucket]:
    """The sums of every endpoint in every bucket, in order of time."""
    by_bucket: dict[float, list[Part]] = {}
    for part in parts:
        by_bucket.setdefault(part.at, []).append(part)
    return [
        _bucket(at, owner, replicas, limits)
        for at in sorted(by_bucket)
        for owner, replicas in put_together(by_bucket[at]).items()
    ]


def _bucket(at: float, owner: tuple[str, str], replicas: Replicas, limits: WarmingLimits) -> EndpointBucket:
    summary, number, readable = summarize_bucket(replicas, limits)
    return EndpointBucket(
        cluster=owner[0],
        endpoint=owner[1],
        at=at,
        ended_at=max(window.ledger.ended_at for window in replicas.values()),
        rounds=sum(window.rounds for window in replicas.values()),
        replicas=number,
        readable=readable,
        figures=dict(zip(ENDPOINT_FIGURES, _figures(summary), strict=True)),
        ttft=summary.ttft,
    )


def _figures(summary: Summary) -> tuple[float | None, ...]:
    """In the order of ENDPOINT_FIGURES. Where nobody transfers and the rest is known, transfer is 0."""
    tiers = summary.tiers
    transfer = tiers.transfer.value if tiers.transfer is not None else 0.0 if tiers.prompt_tokens.known else None
    return (
        tiers.prompt_tokens.value,
        tiers.l0.value,
        tiers.lower.value,
        tiers.l1.figure.value,
        tiers.l1.low.value,
        tiers.l1.high.value,
        tiers.l2.figure.value,
        tiers.l2.low.value,
        tiers.l2.high.value,
        tiers.miss.value,
        transfer,
        summary.requests.value,
        summary.running.value,
        summary.waiting.value,
        summary.kv_usage.value,
        summary.kv_capacity.value,
    )
