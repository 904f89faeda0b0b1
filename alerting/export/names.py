"""Upstream names that exported queries read, newest first; a test holds them against the collectors' sources."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.readings import Reading


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric under all its names.

    Attributes:
        reading: what the collectors make of it; None: they don't read it.
        names: as in `Family.names`: `vllm:` also stands for `vllm_`, a counter's name for it with `_total`.
        where: label matchers that are part of what it means.
    """

    reading: Reading | None
    names: tuple[str, ...]
    is_counter: bool = True
    where: tuple[str, ...] = ()

    def spelled(self, suffix: str = "") -> tuple[str, ...]:
        """All ways in which its samples are named, best first; at most one of them counts for a process.

        Args:
            suffix: `_bucket`, `_sum` or `_count` of a histogram.
        """
        endings = ("_total", "") if self.is_counter else (suffix,)
        written = [way for name in self.names for way in dict.fromkeys((name, name.replace(":", "_")))]
        return tuple(way + ending for way in written for ending in endings)


_OWN = 'server=""'
"""production-stack's router exports engines' figures again, under their names and with this label."""


def _counter(reading: Reading | None, *names: str, where: tuple[str, ...] = ()) -> Metric:
    return Metric(reading, names, where=(*where, _OWN))


def _gauge(reading: Reading | None, *names: str, where: tuple[str, ...] = ()) -> Metric:
    return Metric(reading, names, is_counter=False, where=(*where, _OWN))


def _cache(reading: Reading, name: str) -> Metric:
    return Metric(reading, (name,))


def _pool(reading: Reading, name: str, *where: str) -> Metric:
    return Metric(reading, (name,), is_counter=False, where=where)


PROMPT_TOKENS = _counter(Reading.PROMPT_TOKENS, "vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
L0_HITS = _counter(Reading.L0_HITS, "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")
EXTERNAL_HITS = _counter(Reading.EXTERNAL_HITS, "vllm:external_prefix_cache_hits")
PROCESSED_TOKENS = _counter(Reading.PROCESSED_TOKENS, "vllm:prompt_tokens")
REQUESTS = _counter(Reading.REQUESTS, "vllm:request_success")
FAILED = _counter(None, "vllm:request_success", where=('finished_reason="error"',))
TTFT = _gauge(Reading.TTFT, "vllm:time_to_first_token_seconds")
RUNNING = _gauge(Reading.RUNNING, "vllm:num_requests_running")
WAITING = _gauge(Reading.WAITING, "vllm:num_requests_waiting")
DEFERRED = _gauge(None, "vllm:num_requests_waiting_by_reason", where=('reason="deferred"',))
KV_USAGE = _gauge(Reading.KV_USAGE, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")

LOOKUP_TOKENS = _cache(Reading.LOOKUP_TOKENS, "lmcache_mp_lookup_requested_tokens")
L1_FOUND = _cache(Reading.L1_FOUND, "lmcache_mp_lookup_hit_l1_tokens")
L2_FOUND = _cache(Reading.L2_FOUND, "lmcache_mp_lookup_hit_l2_tokens")
STORES_SUBMITTED = _cache(Reading.STORES_SUBMITTED, "lmcache_mp_l2_store_submitted_objects_chunks")
STORES_COMPLETED = _cache(Reading.STORES_COMPLETED, "lmcache_mp_l2_store_completed_objects_chunks")

POOL_CAPACITY = _pool(Reading.POOL_CAPACITY, "capacity")
POOL_AVAILABLE = _pool(Reading.POOL_AVAILABLE, "available")
POOL_USED = _pool(Reading.POOL_USED, "fs_used")
WORKERS_LIVE = _pool(Reading.WORKERS_LIVE, "worker_num", 'tag="live"')
WORKERS_LOST = _pool(Reading.WORKERS_LOST, "worker_num", 'tag=~"lost|blacklist"')

METRICS = (
    PROMPT_TOKENS,
    L0_HITS,
    EXTERNAL_HITS,
    PROCESSED_TOKENS,
    REQUESTS,
    FAILED,
    TTFT,
    RUNNING,
    WAITING,
    DEFERRED,
    KV_USAGE,
    LOOKUP_TOKENS,
    L1_FOUND,
    L2_FOUND,
    STORES_SUBMITTED,
    STORES_COMPLETED,
    POOL_CAPACITY,
    POOL_AVAILABLE,
    POOL_USED,
    WORKERS_LIVE,
    WORKERS_LOST,
)

TTFT_BOUNDS = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5,
    10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
"""Seconds at which vLLM's TTFT buckets end. Source: vllm 0.32.0, captured live; 0.10.2 has those up to 80 too."""
