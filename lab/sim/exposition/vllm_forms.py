"""The versions of vLLM whose pages the lab has, and what differs between them.

Source: the names in the wheels of these versions, a list of 0.10.2's families from a running engine, and
what their schedulers count.
"""

from __future__ import annotations

from dataclasses import dataclass

_SINCE_0_12 = (
    "vllm:prompt_tokens_by_source",
    "vllm:prompt_tokens_cached",
    "vllm:prompt_tokens_cached_by_source",
    "vllm:request_prefill_kv_computed_tokens",
    "vllm:num_requests_waiting_by_reason",
    "vllm:num_requests_kv_fetch_by_stage",
    "vllm:request_num_preemptions",
    "vllm:admission_rejections",
    "vllm:estimated_flops_per_gpu",
    "vllm:estimated_read_bytes_per_gpu",
    "vllm:estimated_write_bytes_per_gpu",
    "vllm:lmcache_mp_lookup_duration_seconds",
)
_SINCE_0_11 = (
    "vllm:external_prefix_cache_queries",
    "vllm:external_prefix_cache_hits",
    "vllm:request_time_per_output_token_seconds",
    "vllm:mm_cache_queries",
    "vllm:mm_cache_hits",
    "vllm:engine_sleep_state",
)
FORMER_NAMES = {
    "vllm:prefix_cache_queries": "vllm:gpu_prefix_cache_queries",
    "vllm:prefix_cache_hits": "vllm:gpu_prefix_cache_hits",
    "vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc",
}
"""What 0.10.2 exports a second time, under the names of before."""
_LABELS_SINCE_0_12 = (
    "_block_size_resolved",
    "cache_hit_alignment_tokens",
    "effective_attention_block_size",
    "enable_mamba_shared_prefix_checkpoint",
    "kv_cache_max_concurrency",
    "kv_cache_size_tokens",
)


@dataclass(frozen=True, slots=True)
class VllmForm:
    """What differs between versions.

    Attributes:
        counts_all_external_queries: L0's hits are among them.
        recounts_preempted: a request that was preempted is looked up, and counted, again.
        has_former_names: `FORMER_NAMES` are exported beside the new ones.
    """

    version: str
    counts_all_external_queries: bool = False
    recounts_preempted: bool = False
    removed: tuple[str, ...] = ()
    removed_labels: tuple[str, ...] = ()
    has_former_names: bool = False


NEWEST = VllmForm("0.32.0")
ARTICLE = VllmForm("0.11.1", counts_all_external_queries=True, removed=_SINCE_0_12, removed_labels=_LABELS_SINCE_0_12)
OLDER = VllmForm(
    "0.10.2",
    recounts_preempted=True,
    removed=(*_SINCE_0_12, *_SINCE_0_11),
    removed_labels=_LABELS_SINCE_0_12,
    has_former_names=True,
)
FORMS = {form.version: form for form in (NEWEST, ARTICLE, OLDER)}
