"""Canonical readings: what the sources read, each with its unit and meaning, whatever it was called upstream.

Counters of one name are summed over the label sets of an engine. The spellings are in
`collectors/sources/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reading(StrEnum):
    """Names of what can be read from a target."""

    START_TIME = "start_time"
    CREATED = "created"
    # vLLM
    PROMPT_TOKENS = "prompt_tokens"
    L0_HITS = "l0_hits"
    EXTERNAL_QUERIES = "external_queries"
    EXTERNAL_HITS = "external_hits"
    HOST_HITS = "host_hits"
    DISK_HITS = "disk_hits"
    P2P_HITS = "p2p_hits"
    PROCESSED_TOKENS = "processed_tokens"
    COMPUTED_TOKENS = "computed_tokens"
    LOCAL_SOURCE_TOKENS = "local_source_tokens"
    EXTERNAL_SOURCE_TOKENS = "external_source_tokens"
    CACHED_TOKENS = "cached_tokens"
    CACHED_BY_SOURCE = "cached_by_source"
    PROMPT_LENGTHS = "prompt_lengths"
    BLOCK_TOKENS = "block_tokens"
    REQUESTS = "requests"
    ABORTED = "aborted"
    FAILED = "failed"
    PREEMPTIONS = "preemptions"
    TTFT = "ttft"
    KV_USAGE = "kv_usage"
    KV_CAPACITY_TOKENS = "kv_capacity_tokens"
    RUNNING = "running"
    WAITING = "waiting"
    DEFERRED = "deferred"
    PREFILL_SECONDS = "prefill_seconds"
    LOOKUP_SECONDS = "lookup_seconds"
    # LMCache
    LOOKUP_TOKENS = "lookup_tokens"
    L1_FOUND = "l1_found"
    L2_FOUND = "l2_found"
    FOUND_TOKENS = "found_tokens"
    STORES_SUBMITTED = "stores_submitted"
    STORES_COMPLETED = "stores_completed"
    STORE_REQUESTS_SUBMITTED = "store_requests_submitted"
    STORE_REQUESTS_COMPLETED = "store_requests_completed"
    REMOTE_READ_BYTES = "remote_read_bytes"
    LOCAL_DISK_USED = "local_disk_used"
    REQUEST_HIT_RATIO = "request_hit_ratio"
    LOAD_SECONDS = "load_seconds"
    LOAD_TOKENS = "load_tokens"
    L1_USED = "l1_used"
    L1_USAGE = "l1_usage"
    DIRECTORY_BYTES = "directory_bytes"
    # Curvine
    POOL_CAPACITY = "pool_capacity"
    POOL_AVAILABLE = "pool_available"
    POOL_USED = "pool_used"
    WORKERS_LIVE = "workers_live"
    WORKERS_LOST = "workers_lost"
    WORKERS_BLACKLISTED = "workers_blacklisted"
    WORKERS_DECOMMISSIONED = "workers_decommissioned"
    FUSE_ERRORS = "fuse_errors"
    FUSE_READ_BYTES = "fuse_read_bytes"
    FUSE_WRITTEN_BYTES = "fuse_written_bytes"
    FUSE_REQUESTS = "fuse_requests"
    FUSE_ACTIVE = "fuse_active"
    FUSE_QUEUED = "fuse_queued"
    FUSE_PROGRESS = "fuse_progress"
    # routers
    ROUTED_REQUESTS = "routed_requests"
    ROUTER_WORKERS = "router_workers"


@dataclass(frozen=True, slots=True)
class Meaning:
    """Unit of a reading and what one unit of it stands for."""

    unit: str
    text: str


_T, _B, _R, _N, _S = "tokens", "bytes", "ratio", "1", "seconds"

READINGS: dict[Reading, Meaning] = {
    Reading.START_TIME: Meaning("epoch seconds", "when the process started; a change is a restart"),
    Reading.CREATED: Meaning("epoch seconds", "when a counter was created: with the start time it tells a process"),
    Reading.PROMPT_TOKENS: Meaning(_T, "tokens that vLLM looked up in its prefix cache: the one denominator"),
    Reading.L0_HITS: Meaning(_T, "looked-up tokens that were in GPU memory"),
    Reading.EXTERNAL_QUERIES: Meaning(_T, "tokens asked of the KV connector; up to 0.11.1 L0's hits included"),
    Reading.EXTERNAL_HITS: Meaning(_T, "tokens loaded through the KV connector (LMCache) instead of being prefilled"),
    Reading.HOST_HITS: Meaning(_T, "external hits that vLLM itself attributes to host memory"),
    Reading.DISK_HITS: Meaning(_T, "external hits that vLLM itself attributes to disk"),
    Reading.P2P_HITS: Meaning(_T, "tokens transferred from another vLLM instance: not cache hits"),
    Reading.PROCESSED_TOKENS: Meaning(_T, "prompt tokens of scheduled requests, cached or not"),
    Reading.COMPUTED_TOKENS: Meaning(_T, "processed prompt tokens that were computed"),
    Reading.LOCAL_SOURCE_TOKENS: Meaning(_T, "processed prompt tokens that the engine's own cache had"),
    Reading.EXTERNAL_SOURCE_TOKENS: Meaning(_T, "processed prompt tokens that came through the KV connector"),
    Reading.CACHED_TOKENS: Meaning(_T, "processed prompt tokens that were not computed"),
    Reading.CACHED_BY_SOURCE: Meaning(_T, "prefix cache hits of all tiers, by vLLM's own attribution"),
    Reading.PROMPT_LENGTHS: Meaning(_T, "length of each finished request's prompt"),
    Reading.BLOCK_TOKENS: Meaning(_T, "tokens to which prefix cache hits are aligned: block_size, unless told apart"),
    Reading.ABORTED: Meaning("requests", "finished requests that their client gave up"),
    Reading.FAILED: Meaning("requests", "requests that ended in an error of the engine"),
    Reading.REQUESTS: Meaning("requests", "finished requests, all reasons"),
    Reading.PREEMPTIONS: Meaning("requests", "preemptions"),
    Reading.TTFT: Meaning("seconds", "time to first token as the engine sees it"),
    Reading.KV_USAGE: Meaning(_R, "share of the engine's KV blocks in use"),
    Reading.KV_CAPACITY_TOKENS: Meaning(_T, "KV capacity: kv_cache_size_tokens, else num_gpu_blocks × block_size"),
    Reading.RUNNING: Meaning("requests", "requests in execution"),
    Reading.WAITING: Meaning("requests", "requests waiting"),
    Reading.DEFERRED: Meaning("requests", "requests waiting for something other than room, mostly the KV connector"),
    Reading.PREFILL_SECONDS: Meaning(
        _S, "from each finished request's scheduling to its first token, embedded LMCache's loads included"
    ),
    Reading.LOOKUP_SECONDS: Meaning(
        _S, "that requests waited for the cache server's answer, which comes once L2's part lies in L1"
    ),
    Reading.LOOKUP_TOKENS: Meaning(_T, "chunk-aligned tokens that LMCache was asked for, L0's hits included"),
    Reading.L1_FOUND: Meaning(_T, "looked-up tokens that L1 held, also those that L0 then served"),
    Reading.L2_FOUND: Meaning(_T, "looked-up tokens that L2 added beyond L1, also those that L0 then served"),
    Reading.FOUND_TOKENS: Meaning(_T, "embedded LMCache: looked-up tokens that it held, tiers not told apart"),
    Reading.STORES_SUBMITTED: Meaning("chunks", "chunks whose store to L2 was submitted"),
    Reading.STORES_COMPLETED: Meaning("chunks", "chunks whose store to L2 completed"),
    Reading.STORE_REQUESTS_SUBMITTED: Meaning("requests", "store tasks submitted to L2"),
    Reading.STORE_REQUESTS_COMPLETED: Meaning("requests", "store tasks that ended, successful or not"),
    Reading.REMOTE_READ_BYTES: Meaning(_B, "embedded LMCache: bytes that its workers read from the remote"),
    Reading.LOCAL_DISK_USED: Meaning(_B, "embedded LMCache: bytes held on a local disk, whose reads nobody counts"),
    Reading.REQUEST_HIT_RATIO: Meaning(_R, "embedded LMCache: hit ratio of each request"),
    Reading.LOAD_SECONDS: Meaning(_S, "embedded LMCache: that retrievals into GPU memory took"),
    Reading.LOAD_TOKENS: Meaning(_T, "embedded LMCache: tokens that retrievals brought"),
    Reading.L1_USED: Meaning(_B, "bytes held in L1"),
    Reading.L1_USAGE: Meaning(_R, "L1 used / capacity"),
    Reading.DIRECTORY_BYTES: Meaning(_B, "bytes that the coordinator's key directory has on record for L2"),
    Reading.POOL_CAPACITY: Meaning(_B, "capacity of the pool's data directories"),
    Reading.POOL_AVAILABLE: Meaning(_B, "bytes that can still be written"),
    Reading.POOL_USED: Meaning(_B, "bytes held by Curvine, in-flight blocks included"),
    Reading.WORKERS_LIVE: Meaning(_N, "workers that beat"),
    Reading.WORKERS_LOST: Meaning(_N, "workers silent for ten minutes; a planned scale-down looks the same"),
    Reading.WORKERS_BLACKLISTED: Meaning(_N, "workers silent for 30 seconds"),
    Reading.WORKERS_DECOMMISSIONED: Meaning(_N, "workers being drained"),
    Reading.FUSE_ERRORS: Meaning("requests", "failed FUSE requests, ENOENT of lookups (a cache miss) left out"),
    Reading.FUSE_READ_BYTES: Meaning(_B, "bytes read through the mount"),
    Reading.FUSE_WRITTEN_BYTES: Meaning(_B, "bytes written through the mount"),
    Reading.FUSE_REQUESTS: Meaning("requests", "FUSE requests that were answered"),
    Reading.FUSE_ACTIVE: Meaning("requests", "FUSE requests under way"),
    Reading.FUSE_QUEUED: Meaning("replies", "replies to the kernel that wait to be sent"),
    Reading.FUSE_PROGRESS: Meaning("epoch seconds", "when a sender of replies last got on"),
    Reading.ROUTED_REQUESTS: Meaning("requests", "requests that the router handed to a worker"),
    Reading.ROUTER_WORKERS: Meaning(_N, "workers that the router knows"),
}
