"""A store with a fleet as an operator meets it, for the console's tests: known and unknown figures, gaps, restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from db import Store
from tierdeck.account import Answer, Gauges, WarmingLimits
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger
from tierdeck.rounds import Round, SaltCounts, Scrape

CLUSTER = "prod-usw2"
STEP = 15.0
BOUNDS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
PROMPT = 10_000.0
"""Prompt tokens of one replica in one round."""


@dataclass(frozen=True, slots=True)
class Habit:
    """How the replicas of an endpoint behave; shares of prompt tokens, TTFT in seconds.

    From `drops_at` until `recovers_at` the caches serve `dropped` of what they usually do.
    """

    l0: float = 0.4
    l1: float = 0.2
    l2: float = 0.2
    ttft: float = 0.2
    splits: bool = True
    external: bool = True
    traffic: bool = True
    by_request: bool = False
    salts: tuple[str, ...] = ()
    version: str = "0.32.0"
    restarts_at: float | None = None
    silent_after: float = math.inf
    gap: tuple[float, float] = (math.inf, math.inf)
    drops_at: float = math.inf
    recovers_at: float = math.inf
    dropped: float = 0.4


@dataclass(frozen=True, slots=True)
class Made:
    """One endpoint to be made: `habits` by replica."""

    name: str
    habits: Sequence[Habit]
    model: str = "Llama-3.3-70B"
    strategy: str = "prefixaware"
    cluster: str = CLUSTER

    def keys(self) -> list[ReplicaKey]:
        return [ReplicaKey(self.cluster, self.name, f"{self.name}-{number}") for number in range(len(self.habits))]

    def endpoint(self) -> Endpoint:
        replicas = tuple(Replica(key, (_target(key),)) for key in self.keys())
        return Endpoint(self.cluster, self.name, replicas, strategy=self.strategy)


def fill(url: str, made: Sequence[Made], start_at: float, end_at: float, *, step: float = STEP) -> None:
    """Create the store with these endpoints and a round of each replica every `step` seconds."""
    with Store.open(url, migrate=True) as store:
        for cluster in sorted({one.cluster for one in made}):
            own = [one.endpoint() for one in made if one.cluster == cluster]
            store.declare(cluster, own, [], origin="test", actor="a test")
        batch: list[Round] = []
        for one in made:
            for key, habit in zip(one.keys(), one.habits, strict=True):
                batch += _rounds(key, habit, one.model, (start_at, end_at, step))
        for first in range(0, len(batch), 5000):
            store.append(batch[first : first + 5000])
        store.beat("collectors", "host-1:4242", "0.1.0", start_at, end_at)
        store.rollup(end_at, WarmingLimits())


def _target(key: ReplicaKey) -> Target:
    return Target(key, "vllm", f"http://{key.replica}:8000/metrics")


def _rounds(key: ReplicaKey, habit: Habit, model: str, when: tuple[float, float, float]) -> Iterator[Round]:
    start_at, end_at, step = when
    for index in range(1, int((end_at - start_at) / step) + 1):
        at = start_at + index * step
        if not habit.gap[0] <= at < habit.gap[1]:
            yield _round(key, habit, model, (at - step, at))


def _round(key: ReplicaKey, habit: Habit, model: str, edges: tuple[float, float]) -> Round:
    at = edges[1]
    if at > habit.silent_after:
        scrape = Scrape(_target(key), at, answered=False, reason="connection refused", duration_seconds=0.01)
        return Round(key, at, TokenLedger(*edges, engine_gaps=1), Answer.NOTHING, (scrape,), model)
    wave = 1 + 0.25 * math.sin(at / 400 + len(key.replica)) + 0.08 * math.sin(at / 37)
    prompt = round(PROMPT * wave) if habit.traffic else 0.0
    left = habit.dropped if habit.drops_at < at <= habit.recovers_at else 1.0
    l0, l1, l2 = (round(prompt * share * left * (0.9 + 0.1 * wave)) for share in (habit.l0, habit.l1, habit.l2))
    restarted = habit.restarts_at is not None and edges[0] < habit.restarts_at <= at
    ledger = TokenLedger(
        *edges,
        prompt_tokens=prompt,
        l0_hits=l0,
        external_queries=prompt - l0 if habit.external else None,
        external_hits=l1 + l2 if habit.external else None,
        requests=prompt // 500,
        lookup_tokens=prompt if habit.splits else None,
        l1_found=float(l1 + prompt // 100) if habit.splits else None,
        l2_found=float(l2) if habit.splits else None,
        found_tokens=None if habit.splits else float(l1 + l2),
        request_ratio_sum=0.74 * (prompt // 500) if habit.by_request else None,
        request_ratio_count=prompt // 500 if habit.by_request else None,
        engine_scrapes=1,
        cache_at_start=True,
        cache_at_end=True,
        unattributed_tokens=None if habit.external else prompt,
    )
    if restarted:
        ledger = replace(ledger, restarts=1, prompt_tokens_since_restart=prompt, requests_since_restart=prompt // 500)
    gauges = Gauges(0.62, 480_000.0, 4.0, 1.0, 61 * 2.0**30, 96 * 2.0**30)
    scrape = Scrape(_target(key), at, answered=True, duration_seconds=0.012, body_bytes=48_000, version=habit.version)
    ttft = _ttft(habit.ttft * wave, int(prompt // 500)) if habit.traffic else Histogram(BOUNDS, (0.0,) * 11)
    salts = {salt: SaltCounts(1000.0, 300.0, 100.0) for salt in habit.salts}
    return Round(key, at, ledger, Answer.ENGINE, (scrape,), model, ttft, gauges, salts)


def _ttft(middle: float, many: int) -> Histogram:
    """Nine in ten requests near `middle`, the rest five times as long."""
    counts = [0.0] * (len(BOUNDS) + 1)
    for seconds, count in ((middle, many - many // 10), (5 * middle, many // 10)):
        index = next((index for index, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        counts[index] += count
    return Histogram(BOUNDS, tuple(counts), sum=many * middle)


def usual_fleet(end_at: float) -> list[Made]:
    """Three endpoints: one that tells everything, one that does not split, one with little to tell."""
    return [
        Made(
            "chat-70b",
            [Habit(by_request=True), Habit(restarts_at=end_at - 400, by_request=True), Habit(by_request=True)],
        ),
        Made("rag-32b", [Habit(l0=0.25, l1=0.3, ttft=0.5, splits=False), Habit(splits=False, ttft=0.6)],
             model="Qwen2.5-32B", strategy="kvaware"),
        Made("batch-7b", [Habit(l0=0.3, l1=0, l2=0, ttft=120.0), Habit(silent_after=end_at - 300)],
             model="Qwen2-7B", strategy="roundrobin"),
    ]  # fmt: skip
