"""An LMCache multi-process server's page: OpenTelemetry names, counters absent until their first event."""

from __future__ import annotations

from functools import cache

from lab.sim.exposition.page import INSTANCE, Cell, Layout, Page
from lab.sim.exposition.shape import FamilyShape, Labels, recorded
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.prompt import Geometry
from tierdeck.sizing.replica import Lookup

_OBSERVED = ("lmcache_mp_event_bus_dropped_events_total",)
"""Counters that are read at a scrape instead of being incremented: there from the start."""


def _late(family: FamilyShape, labels: Labels) -> bool:
    counted = family.name.startswith("lmcache_mp_") and family.type in ("counter", "histogram")
    return counted and family.name not in _OBSERVED


class _Lookups:
    """What one tenant asked for, and what was found."""

    def __init__(self, page: Page, salt: str) -> None:
        def cell(name: str) -> Cell:
            return page.cell(f"lmcache_mp_{name}_total", cache_salt=salt)

        self._requested, self._requests = cell("lookup_requested_tokens"), cell("lookups_requests")
        self._found = cell("lookup_hit_tokens")
        self._found_l1, self._found_l2 = cell("lookup_hit_l1_tokens"), cell("lookup_hit_l2_tokens")
        self._keys_l1, self._keys_l2 = cell("lookup_hit_l1_keys"), cell("lookup_hit_l2_keys")

    def count(self, lookup: Lookup, chunk_tokens: int) -> None:
        self._requested.add(lookup.requested)
        self._requests.add(1)
        self._found.add(lookup.found_l1 + lookup.found_l2)
        self._found_l1.add(lookup.found_l1)
        self._found_l2.add(lookup.found_l2)
        self._keys_l1.add(lookup.found_l1 // chunk_tokens)
        self._keys_l2.add(lookup.found_l2 // chunk_tokens)


class LmcacheServerPage:
    """What one server found, stored and loaded."""

    def __init__(self, model: str, geometry: Geometry, instance: str, salts: tuple[str, ...] = ("",)) -> None:
        self._geometry = geometry
        self.page = page = Page(_layout(model, salts), instance)
        cell, histogram = page.cell, page.histogram
        self._lookups = {salt: _Lookups(page, salt) for salt in salts}
        self._l1_written = cell("lmcache_mp_l1_write_chunks_total")
        self._l1_read = cell("lmcache_mp_l1_read_chunks_total")
        self._l1_evicted = cell("lmcache_mp_l1_evicted_chunks_total")
        self._l1_triggered = cell("lmcache_mp_l1_eviction_loop_triggered_total")
        self._l1_ticks = cell("lmcache_mp_l1_eviction_loop_ticks_total")
        self._l1_failed = cell("lmcache_mp_l1_allocation_failure_chunks_total")
        self._l1_used = cell("lmcache_mp_l1_memory_usage_bytes")
        self._l1_usage = cell("lmcache_mp_l1_usage_ratio")
        self._l2_used = cell("lmcache_mp_l2_usage_bytes")
        self._l2_lookups = cell("lmcache_mp_l2_prefetch_lookup_requests_total")
        self._l2_lookup_chunks = cell("lmcache_mp_l2_prefetch_lookup_objects_chunks_total")
        self._load_requests = cell("lmcache_mp_l2_prefetch_load_submitted_requests_total")
        self._load_chunks = cell("lmcache_mp_l2_prefetch_load_submitted_objects_chunks_total")
        self._loaded_requests = cell("lmcache_mp_l2_load_completed_requests_total")
        self._loaded_chunks = cell("lmcache_mp_l2_prefetch_load_completed_chunks_total")
        self._store_requests = cell("lmcache_mp_l2_store_submitted_requests_total")
        self._store_chunks = cell("lmcache_mp_l2_store_submitted_objects_chunks_total")
        self._stored_requests = cell("lmcache_mp_l2_store_completed_requests_total")
        self._stored_chunks = cell("lmcache_mp_l2_store_completed_objects_chunks_total")
        self._l2_evicted = cell("lmcache_mp_l2_evicted_objects_chunks_total")
        self._store_speed = histogram("lmcache_mp_l2_store_throughput_GB_per_second")
        self._load_speed = histogram("lmcache_mp_l2_load_throughput_GB_per_second")
        self._written_bytes = 0

    def looked_up(self, lookup: Lookup, load_seconds: float, salt: str) -> None:
        """A tenant's prompt was looked up, and what was found in L2 was read, or could not be."""
        chunk = self._geometry.chunk_tokens
        in_l1, in_l2, asked = lookup.found_l1 // chunk, lookup.found_l2 // chunk, lookup.requested // chunk
        self._lookups[salt].count(lookup, chunk)
        if in_l1:
            self._l1_read.add(in_l1)
        if asked > in_l1:
            self._l2_lookups.add(1)
            self._l2_lookup_chunks.add(asked - in_l1)
        if in_l2:
            self._load_requests.add(1)
            self._load_chunks.add(in_l2)
            self._loaded_requests.add(1)
            if not lookup.unread:
                self._loaded_chunks.add(in_l2)
                self._l1_written.add(in_l2)
                self._load_speed.observe(in_l2 * self._geometry.chunk_bytes / 1e9 / max(load_seconds, 1e-3))

    def stored_in_l1(self, stored: Stored, passed_through: int) -> None:
        """Chunks were kept in L1; those from L2 that the policy does not keep only passed through."""
        if stored.written:
            self._l1_written.add(stored.written)
        if stored.evicted + passed_through:
            self._l1_evicted.add(stored.evicted + passed_through)
            self._l1_triggered.add(1)
        if stored.refused:
            self._l1_failed.add(stored.refused)

    def submitted_to_l2(self, chunks: int) -> None:
        self._store_requests.add(1)
        self._store_chunks.add(chunks)

    def completed_in_l2(self, chunks: int, submitted: int, seconds: float) -> None:
        """A store task ended; it counts as completed also where none of its chunks arrived."""
        self._stored_requests.add(1)
        if chunks or submitted == 0:
            self._stored_chunks.add(chunks)
            size = chunks * self._geometry.chunk_bytes
            self._written_bytes += size
            self._store_speed.observe(size / 1e9 / max(seconds, 1e-3))

    def evicted_from_l2(self, chunks: int) -> None:
        """Its own part of the eviction on the shared directory."""
        if chunks:
            self._l2_evicted.add(chunks)

    def ticked(self, seconds: float) -> None:
        """The eviction loop runs once a second."""
        if seconds > 0:
            self._l1_ticks.add(int(seconds))

    def restart(self, at: float) -> None:
        self._written_bytes = 0
        self.page.restart(at)

    def render(self, l1: ChunkCache) -> str:
        self._l1_used.set(float(l1.used_bytes))
        self._l1_usage.set(l1.used_bytes / l1.capacity_bytes if l1.capacity_bytes else 0.0)
        self._l2_used.set(float(self._written_bytes))
        return self.page.render()


@cache
def _layout(model: str, salts: tuple[str, ...]) -> Layout:
    labels = {"model_name": f"/models/{model}", "service_instance_id": INSTANCE, "l2_name": "fs"}
    return Layout(recorded("lmcache-mp").repeated("cache_salt", salts).relabelled(labels), late=_late)


class CoordinatorPage:
    """The fleet's key directory."""

    def __init__(self) -> None:
        self.page = Page(Layout(recorded("lmcache-coordinator")))
        stems = ("lmcache_coordinator_key_directory_placements", "lmcache_mp_key_directory_placement_count")
        sizes = ("lmcache_coordinator_key_directory_placement_bytes", "lmcache_mp_key_directory_placement_size_bytes")
        self._counts = {tier: [self.page.cell(name, tier=tier) for name in stems] for tier in ("l1", "l2")}
        self._bytes = {tier: [self.page.cell(name, tier=tier) for name in sizes] for tier in ("l1", "l2")}

    def render(self, chunks: dict[str, tuple[int, int]]) -> str:
        """
        Args:
            chunks: (placements, bytes) by tier, `l1` and `l2`.
        """
        for tier, (count, size) in chunks.items():
            for cell in self._counts[tier]:
                cell.set(float(count))
            for cell in self._bytes[tier]:
                cell.set(float(size))
        return self.page.render()
