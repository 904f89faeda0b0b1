"""One engine's series on a vLLM page: what is counted when a request is admitted, prefilled, finished."""

from __future__ import annotations

from dataclasses import dataclass

from lab.sim.exposition.page import Cell, Observations, Page
from lab.sim.exposition.vllm_forms import VllmForm
from tierdeck.sizing.replica import Lookup

_ASKING_SECONDS = 0.008


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
    counts_external_twice: bool = False
    ignores_lookups: bool = False
    ignores_hits: bool = False
    ignores_half_of_ttft: bool = False


class EngineSeries:
    """One engine's counters."""

    def __init__(self, page: Page, engine: str, form: VllmForm, miscounts: Miscounts) -> None:
        self._miscounts = miscounts
        self._form = form
        self._skipped_ttft = False

        def cell(name: str, **labels: str) -> Cell:
            return page.cell(name, engine=engine, **labels)

        def histogram(name: str) -> Observations:
            return page.histogram(name, engine=engine)

        self._queries = cell("vllm:prefix_cache_queries_total")
        self._hits = cell("vllm:prefix_cache_hits_total")
        self._former_queries = cell("vllm:gpu_prefix_cache_queries_total")
        self._former_hits = cell("vllm:gpu_prefix_cache_hits_total")
        self._former_usage = cell("vllm:gpu_cache_usage_perc")
        self._external_queries = cell("vllm:external_prefix_cache_queries_total")
        self._external_hits = cell("vllm:external_prefix_cache_hits_total")
        self._prompt = cell("vllm:prompt_tokens_total")
        self._cached = cell("vllm:prompt_tokens_cached_total")
        self._computed = cell("vllm:prompt_tokens_by_source_total", source="local_compute")
        self._local = cell("vllm:prompt_tokens_by_source_total", source="local_cache_hit")
        self._transferred = cell("vllm:prompt_tokens_by_source_total", source="external_kv_transfer")
        self._device = cell("vllm:prompt_tokens_cached_by_source_total", source="device")
        self._unspecified = cell("vllm:prompt_tokens_cached_by_source_total", source="external_unspecified")
        self._peers = cell("vllm:prompt_tokens_cached_by_source_total", source="p2p")
        self._generated = cell("vllm:generation_tokens_total")
        self._finished = {
            reason: cell("vllm:request_success_total", finished_reason=reason) for reason in ("stop", "length", "abort")
        }
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
        self._preempted = cell("vllm:num_preemptions_total")
        self._preemptions = histogram("vllm:request_num_preemptions")
        self._step_tokens = histogram("vllm:iteration_tokens_total")

    @property
    def lookups(self) -> tuple[float, float]:
        """Tokens looked up and hit since the process started."""
        return self._queries.value, self._hits.value

    def admitted(self, lookup: Lookup, waited_seconds: float, *, connected: bool) -> None:
        """A request was scheduled: its prompt was looked up, the cache's answer took so long beyond the asking."""
        self._looked_up(lookup)
        if connected:
            wrong = self._miscounts
            doubles = self._form.counts_all_external_queries or wrong.doubles_external_queries
            times = 2 if wrong.counts_external_twice else 1
            self._external_queries.add(times * (lookup.tokens if doubles else lookup.tokens - lookup.l0))
            self._external_hits.add(times * lookup.external)
            self._lookup_seconds.observe(_ASKING_SECONDS + waited_seconds)

    def _looked_up(self, lookup: Lookup) -> None:
        wrong = self._miscounts
        if wrong.ignores_lookups:
            return
        hits = 0 if wrong.ignores_hits else lookup.l0
        self._queries.add(lookup.tokens)
        self._hits.add(hits)
        if self._form.has_former_names:
            self._former_queries.add(lookup.tokens)
            self._former_hits.add(hits)

    def preempted(self) -> None:
        """A running request was taken off the batch."""
        self._preempted.add(1)

    def resumed(self, lookup: Lookup) -> None:
        """It is scheduled again; newer versions keep it out of the lookups."""
        if self._form.recounts_preempted:
            self._looked_up(lookup)
        self._step_tokens.observe(lookup.miss)

    def prefilled(self, lookup: Lookup, timing: Timing) -> None:
        """Its first token came."""
        self._prompt.add(lookup.tokens)
        self._cached.add(lookup.l0 + lookup.external)
        self._computed.add(lookup.miss)
        self._local.add(lookup.l0)
        self._transferred.add(lookup.external)
        self._device.add(lookup.l0)
        self._unspecified.add(lookup.l1 + lookup.l2)
        self._peers.add(lookup.transferred)
        self._generated.add(1)
        self._step_tokens.observe(lookup.miss)
        self._skipped_ttft = self._miscounts.ignores_half_of_ttft and not self._skipped_ttft
        if not self._skipped_ttft:
            self._ttft.observe(timing.ttft)

    def finished(self, lookup: Lookup, answer_tokens: int, timing: Timing, preemptions: int = 0) -> None:
        """Its last token came."""
        later = max(0, answer_tokens - 1)
        self._generated.add(later)
        self._finished["stop"].add(1)
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
        self._preemptions.observe(preemptions)
        self._computed_sizes.observe(lookup.miss)
        self._step_tokens.observe(1, later)

    def show(self, gauges: EngineGauges) -> None:
        """What a scrape finds."""
        self._running.set(float(gauges.running))
        self._waiting.set(float(gauges.waiting))
        self._capacity.set(float(gauges.waiting - gauges.deferred))
        self._deferred.set(float(gauges.deferred))
        self._loading.set(float(gauges.loading))
        self._usage.set(gauges.kv_usage)
        self._former_usage.set(gauges.kv_usage)
