"""Upstream names that no reading needs and that boards use all the same: their kind, or what became of them.

What a reading is made of stands in the families of `collectors/sources`; nothing is said twice. Sources:
metrics of vLLM 0.8.5 to 0.32.0 compared by release (names in the wheels), vLLM's list of metrics of the
V0 engine that V1 does not have, and LMCache 0.5.6 captured live.
"""

from __future__ import annotations

from dataclasses import dataclass

from collectors.source import Kind

V0 = "the V1 engine"
"""In place of a version: only the V0 engine had the metric."""

_PREFIX_CACHE = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total")
_LOOKUPS = ("lmcache:num_lookup_hits_total", "lmcache:num_lookup_tokens_total")


@dataclass(frozen=True, slots=True)
class Upstream:
    """A name as in `Family.names`: `vllm:` also stands for `vllm_`, and a counter's name for it with `_total`.

    Attributes:
        role: `hits` or `lookups` of a hit ratio, `rate` for a hit ratio itself, `retrieve_rate` for one
            that asks only for what is there.
        gone: the first release that was looked at and lacks it; empty while it is exported.
        instead: the name that has its meaning now.
        counters: hits and lookups from which to compute what the metric was meant to say.
    """

    name: str
    kind: Kind
    role: str = ""
    gone: str = ""
    instead: str = ""
    counters: tuple[str, str] | None = None


UPSTREAM = (
    # gone from vLLM
    Upstream("vllm:gpu_prefix_cache_hit_rate", Kind.GAUGE, "rate", V0, counters=_PREFIX_CACHE),
    Upstream("vllm:cpu_prefix_cache_hit_rate", Kind.GAUGE, gone=V0),
    Upstream("vllm:cpu_cache_usage_perc", Kind.GAUGE, gone=V0),
    Upstream("vllm:num_requests_swapped", Kind.GAUGE, gone=V0),
    Upstream("vllm:time_in_queue_requests", Kind.HISTOGRAM, gone=V0, instead="vllm:request_queue_time_seconds"),
    Upstream("vllm:model_forward_time_milliseconds", Kind.HISTOGRAM, gone=V0),
    Upstream("vllm:model_execute_time_milliseconds", Kind.HISTOGRAM, gone=V0),
    Upstream(
        "vllm:time_per_output_token_seconds", Kind.HISTOGRAM, gone="0.16.0", instead="vllm:inter_token_latency_seconds"
    ),
    Upstream("vllm:prompt_tokens_recomputed", Kind.COUNTER, gone="0.20.2"),
    # vLLM
    Upstream("vllm:generation_tokens", Kind.COUNTER),
    Upstream("vllm:prompt_tokens_cached", Kind.COUNTER, "hits"),
    Upstream("vllm:prompt_tokens_by_source", Kind.COUNTER),
    Upstream("vllm:mm_cache_hits", Kind.COUNTER, "hits"),
    Upstream("vllm:mm_cache_queries", Kind.COUNTER, "lookups"),
    Upstream("vllm:num_requests_waiting_by_reason", Kind.GAUGE),
    Upstream("vllm:num_requests_kv_fetch_by_stage", Kind.GAUGE),
    Upstream("vllm:engine_sleep_state", Kind.GAUGE),
    Upstream("vllm:iteration_tokens_total", Kind.HISTOGRAM),
    Upstream("vllm:inter_token_latency_seconds", Kind.HISTOGRAM),
    Upstream("vllm:e2e_request_latency_seconds", Kind.HISTOGRAM),
    Upstream("vllm:request_queue_time_seconds", Kind.HISTOGRAM),
    Upstream("vllm:request_decode_time_seconds", Kind.HISTOGRAM),
    # embedded LMCache
    Upstream("lmcache:cache_hit_rate", Kind.GAUGE, "retrieve_rate", counters=_LOOKUPS),
    Upstream("lmcache:retrieve_hit_rate", Kind.GAUGE, "retrieve_rate", counters=_LOOKUPS),
    Upstream("lmcache:lookup_hit_rate", Kind.GAUGE, "rate", counters=_LOOKUPS),
    Upstream("lmcache:num_hit_tokens", Kind.COUNTER, "hits", counters=_LOOKUPS),
    Upstream("lmcache:num_requested_tokens", Kind.COUNTER, "lookups", counters=_LOOKUPS),
    Upstream("lmcache:num_stored_tokens", Kind.COUNTER),
    Upstream("lmcache:num_vllm_hit_tokens", Kind.COUNTER),
    Upstream("lmcache:num_prompt_tokens", Kind.COUNTER),
    Upstream("lmcache:remote_cache_usage", Kind.GAUGE),
    Upstream("lmcache:local_storage_usage", Kind.GAUGE),
    # LMCache's server
    Upstream("lmcache_mp_lookup_hit_tokens", Kind.COUNTER, "hits"),
)

ROUTER_ONLY = (
    "vllm:healthy_pods_total",
    "vllm:current_qps",
    "vllm:avg_latency",
    "vllm:avg_itl",
    "vllm:avg_decoding_length",
    "vllm:num_prefill_requests",
    "vllm:num_decoding_requests",
    "vllm:num_incoming_requests_total",
    "vllm:input_tokens_total",
    "vllm:output_tokens_total",
)
"""Names that only production-stack's router exports: a board with one of them reads that router.

Upstream: vllm-project/production-stack at a6c01db, src/vllm_router/services/metrics_service.
"""
