"""The page of an LMCache engine embedded in vLLM, on a port of its own: hits of L1 and L2 not told apart."""

from __future__ import annotations

from functools import cache

from lab.sim.exposition.page import Layout, Page
from lab.sim.exposition.shape import histogram, recorded
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.prompt import Geometry
from tierdeck.sizing.replica import Lookup

_TENTHS = [tenth / 10 for tenth in range(11)]


class LmcacheEmbeddedPage:
    """What the engine was asked for, found, stored and moved to or from the remote."""

    def __init__(self, model: str, geometry: Geometry) -> None:
        self._geometry = geometry
        self.page = page = Page(_layout(model))
        cell, observations = page.cell, page.histogram
        self._lookups = cell("lmcache:num_lookup_requests_total")
        self._lookup_tokens = cell("lmcache:num_lookup_tokens_total")
        self._lookup_hits = cell("lmcache:num_lookup_hits_total")
        self._nothing_found = cell("lmcache:lookup_0_hit_requests_total")
        self._prompt = cell("lmcache:num_prompt_tokens_total")
        self._retrieves = cell("lmcache:num_retrieve_requests_total")
        self._requested = cell("lmcache:num_requested_tokens_total")
        self._hits = cell("lmcache:num_hit_tokens_total")
        self._vllm_hits = cell("lmcache:num_vllm_hit_tokens_total")
        self._stores = cell("lmcache:num_store_requests_total")
        self._stored = cell("lmcache:num_stored_tokens_total")
        self._reads = cell("lmcache:num_remote_read_requests_total")
        self._read_bytes = cell("lmcache:num_remote_read_bytes_total")
        self._writes = cell("lmcache:num_remote_write_requests_total")
        self._written_bytes = cell("lmcache:num_remote_write_bytes_total")
        self._evictions = cell("lmcache:local_cpu_evict_count_total")
        self._evicted = cell("lmcache:local_cpu_evict_keys_count_total")
        self._used = cell("lmcache:local_cache_usage")
        self._objects = [cell(f"lmcache:{name}") for name in ("active_memory_objs_count", "local_cpu_hot_cache_count")]
        self._puts = cell("lmcache:remote_put_task_num")
        self._ratios = observations("lmcache:request_cache_hit_rate")
        self._retrieve_time = observations("lmcache:time_to_retrieve")
        self._remote_put_time = observations("lmcache:remote_time_to_put")
        self._in_flight = 0

    def looked_up(self, lookup: Lookup, load_seconds: float, salt: str) -> None:
        """A prompt was looked up, and what vLLM did not have was retrieved."""
        found = lookup.found_l1 + lookup.found_l2
        self._lookups.add(1)
        self._lookup_tokens.add(lookup.requested)
        self._lookup_hits.add(found)
        self._prompt.add(lookup.tokens)
        self._vllm_hits.add(lookup.l0)
        self._ratios.observe(found / lookup.requested if lookup.requested else 0.0)
        if not found:
            self._nothing_found.add(1)
        if found > lookup.l0:
            self._retrieves.add(1)
            self._requested.add(found - lookup.l0)
            self._hits.add(lookup.external)
            self._retrieve_time.observe(load_seconds)
        chunks = 0 if lookup.unread else lookup.found_l2 // self._geometry.chunk_tokens
        self._reads.add(chunks)
        self._read_bytes.add(chunks * self._geometry.chunk_bytes)

    def stored_in_l1(self, stored: Stored, passed_through: int) -> None:
        if stored.evicted:
            self._evictions.add(1)
            self._evicted.add(stored.evicted)

    def submitted_to_l2(self, chunks: int) -> None:
        self._stores.add(1)
        self._stored.add(chunks * self._geometry.chunk_tokens)
        self._in_flight += chunks

    def completed_in_l2(self, chunks: int, submitted: int, seconds: float) -> None:
        self._in_flight -= submitted
        self._writes.add(chunks)
        self._written_bytes.add(chunks * self._geometry.chunk_bytes)
        self._remote_put_time.observe(seconds * 1000, chunks)

    def evicted_from_l2(self, chunks: int) -> None:
        """Not exported in this form."""

    def ticked(self, seconds: float) -> None:
        """Nothing is counted by time here."""

    def restart(self, at: float) -> None:
        self._in_flight = 0
        self.page.restart(at)

    def render(self, l1: ChunkCache) -> str:
        self._used.set(float(l1.used_bytes))
        self._puts.set(float(self._in_flight))
        for cell in self._objects:
            cell.set(float(len(l1)))
        return self.page.render()


@cache
def _layout(model: str) -> Layout:
    shape = recorded("lmcache").relabelled({"model_name": model})
    labels = next(family.samples[0].labels for family in shape.families if family.name.startswith("lmcache:num_"))
    # the record has this histogram without any request; its bounds are taken to be tenths
    ratios = histogram("lmcache:request_cache_hit_rate", "Request cache hit rate", labels, _TENTHS)
    return Layout(shape.plus([ratios]))
