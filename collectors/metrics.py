"""The collectors' own metrics, for whoever watches the watcher."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

SCRAPES = Counter("tierdeck_collectors_scrapes_total", "Scrapes by kind of target and outcome.", ["kind", "outcome"])
SCRAPE_SECONDS = Histogram(
    "tierdeck_collectors_scrape_duration_seconds",
    "Seconds until a body was read whole.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
APPEND_SECONDS = Histogram(
    "tierdeck_collectors_append_duration_seconds",
    "Seconds to write one batch of rounds.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
ROUNDS_WAITING = Gauge("tierdeck_collectors_rounds_waiting", "Rounds not yet written.")
ROUNDS_DROPPED = Counter(
    "tierdeck_collectors_rounds_dropped_total", "Rounds dropped because the store was away too long."
)
REPLICAS = Gauge("tierdeck_collectors_replicas", "Replicas, pools and shared sources that are scraped.")
LAST_WRITE = Gauge("tierdeck_collectors_last_write_timestamp_seconds", "When a batch was last written.")
