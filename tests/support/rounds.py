"""Rounds for tests of the store: plain ones, and any that Hypothesis can think of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierdeck.account import Answer, Gauges
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger
from tierdeck.rounds import Round, SaltCounts, Scrape

T0 = 1_700_000_400.0
"""2023-11-14 22:20:00 UTC: on a bucket's edge at 10 minutes, not at an hour."""
BOUNDS = (0.1, 0.25, 0.5, 1.0)


def key(replica: str = "a", endpoint: str = "chat", cluster: str = "east") -> ReplicaKey:
    return ReplicaKey(cluster, endpoint, replica)


def endpoint(name: str = "chat", replicas: Sequence[str] = ("a", "b"), cluster: str = "east") -> Endpoint:
    """An endpoint whose replicas have one vLLM target each."""
    keys = [ReplicaKey(cluster, name, replica) for replica in replicas]
    targets = [Target(one, "vllm", f"http://{one.replica}:8000/metrics") for one in keys]
    return Endpoint(cluster, name, tuple(Replica(one, (target,)) for one, target in zip(keys, targets, strict=True)))


def ledger(at: float, prompt: float | None = 1000.0, seconds: float = 15.0, **counts: float | None) -> TokenLedger:
    """Half of the prompt from L0, a fifth from below; the rest recomputed."""
    values: dict[str, float | None] = {
        "l0_hits": None if prompt is None else prompt * 0.5,
        "external_queries": None if prompt is None else prompt * 0.5,
        "external_hits": None if prompt is None else prompt * 0.2,
        "requests": None if prompt is None else 10.0,
    } | counts
    scrapes = int(prompt is not None)
    return TokenLedger(at - seconds, at, prompt_tokens=prompt, engine_scrapes=scrapes, **values)  # type: ignore[arg-type]


def a_round(
    at: float,
    who: ReplicaKey | None = None,
    prompt: float | None = 1000.0,
    *,
    counts: TokenLedger | None = None,
    answer: Answer | None = None,
    ttft: Histogram | None = None,
    gauges: Gauges | None = None,
    salts: Mapping[str, SaltCounts] | None = None,
    reason: str = "",
    version: str = "",
) -> Round:
    """A round of one vLLM target; `prompt` None: it did not answer."""
    owner = who or key()
    told = answer or (Answer.ENGINE if prompt is not None else Answer.NOTHING)
    why = reason or ("" if prompt is not None else "connection refused")
    scrape = Scrape(
        Target(owner, "vllm", f"http://{owner.replica}:8000/metrics"), at, not why, why, 0.01, 2048, version
    )
    return Round(
        key=owner,
        at=at,
        ledger=counts or ledger(at, prompt),
        answer=told,
        scrapes=(scrape,),
        model="m" if prompt is not None else "",
        ttft=ttft,
        gauges=gauges or Gauges(),
        salts=salts or {},
        memory={"at": at, "counters": {"prompt_tokens": at}},
    )


def histogram(*counts: float, bounds: tuple[float, ...] = BOUNDS, total: float = 1.0) -> Histogram:
    return Histogram(bounds, counts, total)
