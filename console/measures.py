"""The console's own metrics: how often views run, how long the store takes, what fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

REGISTRY = CollectorRegistry()
VIEW_RUNS = Counter(
    "tierdeck_console_view_runs", "Runs of a view, live refreshes included.", ["view"], registry=REGISTRY
)
VIEW_FAILURES = Counter(
    "tierdeck_console_view_failures", "Runs of a view that ended in an error.", ["view"], registry=REGISTRY
)
_QUERY_SECONDS = Histogram(
    "tierdeck_console_query_seconds", "Seconds that the store took for what a view shows, cached answers left out.",
    ["query"], registry=REGISTRY, buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)  # fmt: skip
STORE_UP = Gauge("tierdeck_console_store_up", "1 while the store answers the health check, else 0.", registry=REGISTRY)


@contextmanager
def query_time(query: str) -> Iterator[None]:
    """Count what is done inside."""
    with _QUERY_SECONDS.labels(query).time():
        yield


def exposition() -> bytes:
    """All of them as Prometheus text."""
    return generate_latest(REGISTRY)
