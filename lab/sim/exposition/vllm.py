"""A vLLM API server's page: 0.32 as recorded, or 0.11.1 as its source has it.

Source of the differences: the names in the wheels of both versions, and what their schedulers count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from lab.sim.exposition.page import Layout, Page
from lab.sim.exposition.shape import recorded
from tierdeck.sizing.prompt import Geometry
from tierdeck.sizing.replica import Lookup

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
    """What differs between versions."""

    version: str
    counts_all_external_queries: bool = False
    removed: tuple[str, ...] = ()
    removed_labels: tuple[str, ...] = ()


NEWEST = VllmForm("0.32.0")
ARTICLE = VllmForm("0.11.1", counts_all_external_queries=True, removed=_SINCE_0_12, removed_labels=_LABELS_SINCE_0_12)


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What `cache_config_info` and the labels say."""

    model: str
    geometry: Geometry
    l0_blocks: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Parts of one request's time, in seconds."""

    queue: float
    prefill: float
    decode: float = 0.0

    @property
    def ttft(self) -> float:
        return self.queue + self.prefill


@dataclass(frozen=True, slots=True)
class EngineGauges:
    """The engine at the moment of a scrape."""

    running: int = 0
    waiting: int = 0
    deferred: int = 0
    loading: int = 0
    kv_usage: float = 0.0


@dataclass(slots=True)
class Miscounts:
    """What an engine counts wrongly; survives its restarts."""

    doubles_external_queries: bool = False
    ignores_lookups: bool = False


class VllmPage:
    """One engine's counters."""

    def __init__(self, form: VllmForm, facts: EngineFacts, miscounts: Miscounts) -> None:
        self._miscounts = miscounts
        self._form = form
        self.page = page = Page(_layout(form, facts))
        cell, histogram = page.cell, page.histogram
        self._queries = cell("vllm:prefix_cache_queries_total")
        self._hits = cell("vllm:prefix_cache_hits_total")
        self._external_queries = cell("vllm:external_prefix_cache_queries_total")
        self._external_hits = cell("vllm:external_prefix_cache_hits_total")
        self._prompt = cell("vllm:prompt_tokens_total")
        self._cached = cell("vllm:prompt_tokens_cached_total")
        self._computed = cell("vllm:prompt_tokens_by_source_total", source="local_compute")
        self._local = cell("vllm:prompt_tokens_by_source_total", source="local_cache_hit")
        self._transferred = cell("vllm:prompt_tokens_by_source_total", source="external_kv_transfer")
        self._device = cell("vllm:prompt_tokens_cached_by_source_total", source="device")
        self._unspecified = cell("vllm:prompt_tokens_cached_by_source_total", source="external_unspecified")
        self._generated = cell("vllm:generation_tokens_total")
        self._finished = {
            reason: cell("vllm:request_success_total", finished_reason=reason) for reason in ("stop", "length", "abort")
        }
        self._http = cell("http_requests_total")
        self._running = cell("vllm:num_requests_running")
        self._waiting = cell("vllm:num_requests_waiting")
        self._capacity = cell("vllm:num_requests_waiting_by_reason", reason="capacity")
        self._deferred = cell("vllm:num_requests_waiting_by_reason", reason="deferred")
        self._loading = cell("vllm:num_requests_kv_fetch_by_stage", stage="in_progress")
        self._usage = cell("vllm:kv_cache_usage_perc")
        self._lookup_seconds = histogram("vllm:lmcache_mp_lookup_duration_seconds")
        self._ttft = histogram("vllm:time_to_first_token_seconds")
        self._queue_time = histogram("vllm:request_queue_time_seconds")
        self._prefill_time = histogram("vllm:request_prefill_time_seconds")
        self._decode_time = histogram("vllm:request_decode_time_seconds")
        self._inference_time = histogram("vllm:request_inference_time_seconds")
        self._e2e = histogram("vllm:e2e_request_latency_seconds")
        self._itl = histogram("vllm:inter_token_latency_seconds")
        self._per_token = histogram("vllm:request_time_per_output_token_seconds")
        self._prompt_sizes = histogram("vllm:request_prompt_tokens")
        self._answer_sizes = histogram("vllm:request_generation_tokens")
        self._most_answer = histogram("vllm:request_max_num_generation_tokens")
        self._max_tokens = histogram("vllm:request_params_max_tokens")
        self._asked_n = histogram("vllm:request_params_n")
        self._computed_sizes = histogram("vllm:request_prefill_kv_computed_tokens")
        self._preemptions = histogram("vllm:request_num_preemptions")
        self._step_tokens = histogram("vllm:iteration_tokens_total")

    @property
    def lookups(self) -> tuple[float, float]:
        """Tokens looked up and hit since the process started."""
        return self._queries.value, self._hits.value

    def admitted(self, lookup: Lookup, *, connected: bool) -> None:
        """A request was scheduled: its prompt was looked up."""
        if not self._miscounts.ignores_lookups:
            self._queries.add(lookup.tokens)
            self._hits.add(lookup.l0)
        if connected:
            doubles = self._form.counts_all_external_queries or self._miscounts.doubles_external_queries
            self._external_queries.add(lookup.tokens if doubles else lookup.tokens - lookup.l0)
            self._external_hits.add(lookup.external)
            self._lookup_seconds.observe(0.008)

    def prefilled(self, lookup: Lookup, timing: Timing) -> None:
        """Its first token came."""
        self._prompt.add(lookup.tokens)
        self._cached.add(lookup.l0 + lookup.external)
        self._computed.add(lookup.miss)
        self._local.add(lookup.l0)
        self._transferred.add(lookup.external)
        self._device.add(lookup.l0)
        self._unspecified.add(lookup.external)
        self._generated.add(1)
        self._ttft.observe(timing.ttft)
        self._step_tokens.observe(lookup.miss)

    def finished(self, lookup: Lookup, answer_tokens: int, timing: Timing) -> None:
        """Its last token came."""
        later = max(0, answer_tokens - 1)
        self._generated.add(later)
        self._finished["stop"].add(1)
        self._http.add(1)
        self._queue_time.observe(timing.queue)
        self._prefill_time.observe(timing.prefill)
        self._decode_time.observe(timing.decode)
        self._inference_time.observe(timing.prefill + timing.decode)
        self._e2e.observe(timing.ttft + timing.decode)
        self._itl.observe(timing.decode / later if later else 0.0, later)
        self._per_token.observe(timing.decode / later if later else 0.0)
        self._prompt_sizes.observe(lookup.tokens)
        for sizes in (self._answer_sizes, self._most_answer, self._max_tokens):
            sizes.observe(answer_tokens)
        self._asked_n.observe(1)
        self._preemptions.observe(0)
        self._computed_sizes.observe(lookup.miss)
        self._step_tokens.observe(1, later)

    def aborted(self, requests: int) -> None:
        self._finished["abort"].add(requests)

    def render(self, gauges: EngineGauges) -> str:
        self._running.set(float(gauges.running))
        self._waiting.set(float(gauges.waiting))
        self._capacity.set(float(gauges.waiting - gauges.deferred))
        self._deferred.set(float(gauges.deferred))
        self._loading.set(float(gauges.loading))
        self._usage.set(gauges.kv_usage)
        return self.page.render()


@cache
def _layout(form: VllmForm, facts: EngineFacts) -> Layout:
    geometry = facts.geometry
    labels: dict[str, str | None] = {
        "model_name": facts.model,
        "block_size": str(geometry.block_tokens),
        "effective_attention_block_size": str(geometry.block_tokens),
        "num_gpu_blocks": str(facts.l0_blocks),
        "num_gpu_blocks_override": "None",
        "kv_cache_size_tokens": str(facts.l0_blocks * geometry.block_tokens),
        "kv_cache_max_concurrency": repr(round(facts.l0_blocks * geometry.block_tokens / 32768, 2)),
        "kv_cache_memory_bytes": "None",
        **dict.fromkeys(form.removed_labels),
    }
    return Layout(recorded("vllm").without(form.removed).relabelled(labels))
