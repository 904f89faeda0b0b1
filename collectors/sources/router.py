"""Routers: vllm-router's own counters, and production-stack's, whose copies of engine series are left out.

Upstream: vllm-router 0.1.17 captured live (its own metrics are on the Prometheus port, 29000; its main
port hands on a worker's). production-stack's router re-exports engine figures as gauges with the label
`server`; those are never engine series here.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.source import Family, Kind, TargetReading
from collectors.sources.plain import TableSource
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

FAMILIES = (
    Family(Reading.ROUTED_REQUESTS, Kind.COUNTER, ("vllm_router_processed_requests",), by="worker"),
    Family(Reading.ROUTER_WORKERS, Kind.GAUGE, ("vllm_router_active_workers",)),
)
RE_EXPORTED = (
    Family(Reading.L0_HITS, Kind.GAUGE, ("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total")),
    Family(
        Reading.PROMPT_TOKENS, Kind.GAUGE, ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total")
    ),
    Family(Reading.KV_USAGE, Kind.GAUGE, ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")),
    Family(Reading.RUNNING, Kind.GAUGE, ("vllm:num_requests_running",)),
    Family(Reading.WAITING, Kind.GAUGE, ("vllm:num_requests_waiting",)),
)


class RouterSource(TableSource):
    """A router. Engine series on its page are counted as left out, with or without the label `server`."""

    def __init__(self) -> None:
        super().__init__(SourceKind.ROUTER, (*FAMILIES, *RE_EXPORTED), router_label="server")
        self.families = FAMILIES

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        reading = super().read(text, values)
        if reading is None:
            return None
        own = {family.reading for family in FAMILIES}
        copies = [key for key in reading.gauges if key.reading not in own]
        for key in copies:
            del reading.gauges[key]
        reading.router_series += len(copies)
        reading.recognised = reading.recognised or reading.router_series > 0
        reading.renamed = frozenset()
        return reading


ROUTER = RouterSource()
