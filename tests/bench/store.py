"""The store on SQLite: appending, 15 minutes of a fleet, a month, a minute of many. `python -m tests.bench.store`."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from db import Store
from db.codec import dump_counts
from db.dimensions import Needs, SeriesKey
from db.schema import ENDPOINTS
from db.upsert import Upsert
from tests.bench import Measure, measure
from tierdeck.account import Answer, Gauges, WarmingLimits
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round, Scrape

REPLICAS = 1000
PER_ENDPOINT = 20
MOMENTS = 60
BATCH = 100
HOURS, ENDPOINT_COUNT = 30 * 24, 50
SCENE_ENDPOINTS = 1000
START = 1_700_000_400
BOUNDS = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
          160.0, 640.0, 2560.0)  # fmt: skip
"""vLLM's own for time to first token."""


def run() -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder) / 'deck.db'}", migrate=True)
        with store:
            found = [*_recent(store), *_month(store)]
        store = Store.open(f"sqlite:///{Path(folder) / 'many.db'}", migrate=True)
        with store:
            return [*found, *_scene(store)]


def _recent(store: Store) -> list[Measure]:
    """1,000 replicas, 15 minutes of them."""
    dice = random.Random(7)
    keys = [ReplicaKey("east", f"chat-{n // PER_ENDPOINT}", f"pod-{n}") for n in range(REPLICAS)]
    _declare(store, keys)
    batches = []
    for moment in range(1, MOMENTS + 1):
        rounds = [_round(key, START + 15.0 * moment, dice) for key in keys]
        for start in range(0, REPLICAS, BATCH):
            some = rounds[start : start + BATCH]
            batches.append(_seconds(lambda some=some: store.append(some)))  # type: ignore[misc]  # bound per turn
    end_at = START + 15 * MOMENTS
    accounts = [_seconds(lambda: store.accounts(START, end_at)) for _ in range(5)]
    one = [_seconds(lambda: store.accounts(START, end_at, "east", "chat-3")) for _ in range(9)]
    first = _seconds(lambda: store.rollup(end_at - 60, WarmingLimits()))
    minute = _seconds(lambda: store.rollup(end_at, WarmingLimits()))
    each = statistics.median(batches) / BATCH
    return [
        measure(f"append a round, in batches of {BATCH}", each * 1000, "ms", at_most=0.4),
        measure("rounds appended a second", 1 / each, "1/s"),
        measure("accounts of 1,000 replicas over 15 minutes", statistics.median(accounts), "s", at_most=1.0),
        measure("accounts of one endpoint of 20 replicas over 15 minutes", statistics.median(one), "s", at_most=0.1),
        measure("roll up 14 minutes of 1,000 replicas", first, "s"),
        measure("roll up one more minute of 1,000 replicas", minute, "s", at_most=5.0),
    ]


def _month(store: Store) -> list[Measure]:
    """50 endpoints, 30 days of hours."""
    end_at = START // 3600 * 3600
    _write_hours(store, end_at)
    start_at = end_at - HOURS * 3600
    whole = [_seconds(lambda: store.endpoint_series(start_at, end_at, Resolution.HOUR)) for _ in range(5)]
    total = [_seconds(lambda: store.endpoint_series(start_at, end_at, Resolution.HOUR, total=True)) for _ in range(5)]
    one = [
        _seconds(lambda: store.endpoint_series(start_at, end_at, Resolution.HOUR, "east", "chat-3")) for _ in range(9)
    ]
    return [
        measure("30 days of 50 endpoints by the hour", statistics.median(whole), "s", at_most=2.0),
        measure("30 days of 50 endpoints by the hour, summed", statistics.median(total), "s", at_most=2.0),
        measure("30 days of one endpoint by the hour", statistics.median(one), "s", at_most=0.1),
    ]


def _scene(store: Store) -> list[Measure]:
    """1,000 endpoints of 3 replicas, one minute of them."""
    dice = random.Random(7)
    keys = [ReplicaKey("east", f"chat-{n // 3}", f"pod-{n}") for n in range(3 * SCENE_ENDPOINTS)]
    _declare(store, keys, per_endpoint=3)
    for start in range(0, len(keys), BATCH):
        store.append([_round(key, START + 15.0, dice) for key in keys[start : start + BATCH]])
    store.rollup(START + 60, WarmingLimits())
    times = []
    for _ in range(5):
        begun = time.process_time()
        store.scene(START)
        times.append(time.process_time() - begun)
    name = "the minute of 1,000 endpoints of 3 replicas that alerting sees"
    return [measure(name, statistics.median(times), "s CPU", at_most=1.5)]


def _declare(store: Store, keys: Sequence[ReplicaKey], per_endpoint: int = PER_ENDPOINT) -> None:
    endpoints = [
        Endpoint(
            "east",
            keys[start].endpoint,
            tuple(Replica(key, _targets(key)) for key in keys[start : start + per_endpoint]),
        )
        for start in range(0, len(keys), per_endpoint)
    ]
    store.declare("east", endpoints, [], "bench", "bench")


def _targets(key: ReplicaKey) -> tuple[Target, ...]:
    names = (("vllm", 8000), ("lmcache-mp", 8080))
    return tuple(Target(key, name, f"http://{key.replica}:{port}/metrics") for name, port in names)


def _round(key: ReplicaKey, at: float, dice: random.Random) -> Round:
    """Both sources answered; five requests, whose TTFT is a few hundred milliseconds."""
    prompt = float(dice.randrange(1000, 9000))
    buckets = [0.0] * (len(BOUNDS) + 1)
    for _ in range(5):
        buckets[min(max(int(dice.gauss(9.5, 1.5)), 0), len(BOUNDS))] += 1
    ledger = TokenLedger(
        at - 15, at, prompt_tokens=prompt, l0_hits=prompt // 2, external_queries=prompt - prompt // 2,
        external_hits=prompt // 5, host_hits=0.0, disk_hits=0.0, transfer_tokens=0.0, processed_tokens=prompt,
        requests=5.0, preemptions=0.0, lookup_tokens=prompt, l1_found=prompt // 3, l2_found=prompt // 9,
        stores_submitted=4.0, stores_completed=4.0, engine_scrapes=1, stores_in_flight=1.0, cache_at_start=True,
        cache_at_end=True,
    )  # fmt: skip
    counters = {f"counter_{n}": prompt + n for n in range(14)}
    meter = {"start_time": at, "counters": counters, "ttft": [list(BOUNDS), buckets, 1.5]}
    return Round(
        key=key,
        at=at,
        ledger=ledger,
        answer=Answer.ENGINE,
        scrapes=tuple(Scrape(target, at, True, "", 0.004, 60000) for target in _targets(key)),
        model="llama",
        ttft=Histogram(BOUNDS, tuple(buckets), 1.5),
        gauges=Gauges(0.4, 100000.0, 3.0, 0.0, 2e9, 4e9),
        memory={"at": at, "meters": {"vllm": meter, "lmcache-mp": {"start_time": at, "counters": counters}}},
    )


def _write_hours(store: Store, end_at: int) -> None:
    """Rolled-up rows straight into the table: rounds of a month would take the bench a day."""
    dice = random.Random(7)
    keys = [SeriesKey("east", f"chat-{n}", "") for n in range(ENDPOINT_COUNT)]
    database, ids = store._database, store._ids
    ids.prepare(database, Needs(series=set(keys), layouts={BOUNDS}))
    rows = []
    for key in keys:
        for hour in range(HOURS):
            at = float(end_at - 3600 * (HOURS - hour))
            counts = [float(dice.randrange(200)) if 6 < bucket < 14 else 0.0 for bucket in range(len(BOUNDS) + 1)]
            figures = (1e6, 5e5, 2e5, 1e5, 9e4, 1.1e5, 1e5, 9e4, 1.1e5, 3e5, 0.0, 900.0, 4.0, 1.0, 0.5, 2e6)
            ttft = (ids.layout_id(BOUNDS), dump_counts(counts), 100.0)
            rows.append((ids.series_id(key), at, at + 3600, 4800, 20, 20, *figures, *ttft))
    with database.write() as connection:
        Upsert(ENDPOINTS[Resolution.HOUR]).run(connection, rows)


def _seconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    for one in run():
        print(f"{one.name:<60} {one.value:10.3f} {one.unit:<4} {one.limit} {'' if one.ok else 'MISSED'}")
