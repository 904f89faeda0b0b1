"""LMCache's metrics: the multi-process server, its coordinator, and the engine embedded in vLLM.

Upstream: lmcache 0.5.6, captured live; instruments of the server by OpenTelemetry, where a counter is
absent until its first increment. The server's port is `--http-port` (8080); the embedded engine's is
`internal_api_server_port_start` (6999).
"""

from __future__ import annotations

from collectors.source import Family, Kind
from collectors.sources.plain import TableSource
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

EMBEDDED_FAMILIES = (
    # every tensor-parallel rank looks up the same tokens
    Family(Reading.LOOKUP_TOKENS, Kind.COUNTER, ("lmcache:num_lookup_tokens",), largest=True),
    Family(Reading.FOUND_TOKENS, Kind.COUNTER, ("lmcache:num_lookup_hits",), largest=True),
    # each rank reads its own part of the KV; the scheduler exports the counter too, and never reads
    Family(Reading.REMOTE_READ_BYTES, Kind.COUNTER, ("lmcache:num_remote_read_bytes",), unless={"role": "scheduler"}),
    Family(Reading.LOCAL_DISK_USED, Kind.GAUGE, ("lmcache:local_storage_usage",)),
    # each rank loads its own part of the same tokens, at the same time
    Family(Reading.LOAD_SECONDS, Kind.SUM, ("lmcache:time_to_retrieve",), largest=True),
    Family(Reading.LOAD_TOKENS, Kind.COUNTER, ("lmcache:num_hit_tokens",), largest=True),
    Family(Reading.REQUEST_HIT_RATIO, Kind.HISTOGRAM, ("lmcache:request_cache_hit_rate",)),
    Family(Reading.L1_USED, Kind.GAUGE, ("lmcache:local_cache_usage",)),
)


def _counter(reading: Reading, name: str, by: str = "") -> Family:
    return Family(reading, Kind.COUNTER, (name,), by=by, zero_when_absent=True)


SERVER_FAMILIES = (
    _counter(Reading.LOOKUP_TOKENS, "lmcache_mp_lookup_requested_tokens", by="cache_salt"),
    _counter(Reading.L1_FOUND, "lmcache_mp_lookup_hit_l1_tokens", by="cache_salt"),
    _counter(Reading.L2_FOUND, "lmcache_mp_lookup_hit_l2_tokens", by="cache_salt"),
    _counter(Reading.STORES_SUBMITTED, "lmcache_mp_l2_store_submitted_objects_chunks"),
    _counter(Reading.STORES_COMPLETED, "lmcache_mp_l2_store_completed_objects_chunks"),
    _counter(Reading.STORE_REQUESTS_SUBMITTED, "lmcache_mp_l2_store_submitted_requests"),
    _counter(Reading.STORE_REQUESTS_COMPLETED, "lmcache_mp_l2_store_completed_requests"),
    Family(Reading.L1_USED, Kind.GAUGE, ("lmcache_mp_l1_memory_usage_bytes",), by="l1_tag"),
    Family(Reading.L1_USAGE, Kind.GAUGE, ("lmcache_mp_l1_usage_ratio",), by="l1_tag"),
)

COORDINATOR_FAMILIES = (
    Family(
        Reading.DIRECTORY_BYTES,
        Kind.GAUGE,
        ("lmcache_coordinator_key_directory_placement_bytes", "lmcache_mp_key_directory_placement_size_bytes"),
        where={"tier": "l2"},
    ),
)

EMBEDDED = TableSource(SourceKind.LMCACHE, EMBEDDED_FAMILIES, engine_label="worker_id")
SERVER = TableSource(SourceKind.LMCACHE_MP, SERVER_FAMILIES, silent_when_idle=True)
COORDINATOR = TableSource(SourceKind.LMCACHE_COORDINATOR, COORDINATOR_FAMILIES, silent_when_idle=True)
