"""One simulated replica: vLLM with its LMCache, a queue in front, one prefill at a time.

A request waits until the GPU is free for its prefill, is looked up then, loads what LMCache has, computes
the rest, and decodes beside others until its answer is complete.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from lab.sim.exposition.vllm import EngineFacts, EngineGauges, Miscounts, Timing, VllmPage
from lab.sim.job import Job
from lab.sim.mount import Mount
from lab.sim.pool import Pool
from lab.sim.spec import EndpointSpec, Form
from lab.sim.telemetry import cache_page, vllm_form
from lab.sim.timeline import Timeline
from lab.sim.truth import Truth
from tierdeck.sizing.blocks import BlockCache
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.prompt import Prompt
from tierdeck.sizing.replica import Lookup, ReplicaCache

HANG_SECONDS = 20.0
"""How long a request waits for an L2 that does not come back, before it is computed."""
DEGRADE_SECONDS = 18.0
"""How long vLLM waits for a frozen cache server until it goes on without it."""


class CacheServer(StrEnum):
    """How the LMCache process is doing."""

    OK = "ok"
    FROZEN = "frozen"
    GONE = "gone"


@dataclass(slots=True)
class Sizes:
    """Room in the tiers of one replica, in bytes."""

    l0_bytes: int
    l1_bytes: int

    def copy(self) -> Sizes:
        return Sizes(self.l0_bytes, self.l1_bytes)


class SimReplica:
    """A replica; what routers see of it, and what its processes export."""

    def __init__(self, name: str, form: Form, spec: EndpointSpec, pool: Pool, timeline: Timeline) -> None:
        self.name = name
        self.form = form
        self.spec = spec
        self.sizes = Sizes(spec.l0_bytes, spec.l1_bytes)
        self.truth = Truth()
        self.up = True
        self.key_mask = 0
        self.cache_server = CacheServer.OK
        self.miscounts = Miscounts()
        self._pool = pool
        self._timeline = timeline
        self._degraded_at: float | None = None
        self._waiting: deque[Job] = deque()
        self._running: dict[int, Job] = {}
        self._busy_until = 0.0
        self._life = 0
        self._ticked_at = timeline.now
        self.mount = Mount(timeline.wall())
        self._build()

    def _build(self) -> None:
        """Empty tiers and new pages, as after a start of all of the pod's processes."""
        geometry = self.spec.geometry
        facts = EngineFacts(self.spec.model, geometry, geometry.blocks_in(self.sizes.l0_bytes))
        self.cache = ReplicaCache(
            geometry,
            BlockCache(facts.l0_blocks),
            ChunkCache(self.sizes.l1_bytes),
            self._pool.chunks,
            promotes=self.spec.promotes,
        )
        self.cache.key_mask = self.key_mask
        self.engine_page = VllmPage(vllm_form(self.form), facts, self.miscounts)
        self.cache_page = cache_page(self.form, facts, f"{self.spec.name}-{self.name}")
        started_at = self._timeline.wall()
        self.engine_page.page.restart(started_at)
        self.cache_page.restart(started_at)

    # what routers see

    @property
    def outstanding(self) -> int:
        return len(self._waiting) + len(self._running)

    def held_tokens(self, prompt: Prompt) -> int:
        return self.cache.held_tokens(prompt)

    # requests

    def submit(self, job: Job) -> None:
        """Take a request in; one that can never fit ends at once."""
        job.reserve(self.spec.geometry)
        needed = len(job.request.prompt.blocks) + job.nameless
        if not self.up or needed > self.cache.l0.capacity_blocks:
            job.end(done=False)
            return
        self._waiting.append(job)
        self.go_on()

    def go_on(self) -> None:
        """Start the next request if the GPU is free and there is room for it."""
        now = self._timeline.now
        if not self._waiting or now < self._busy_until or not self.up or self._blocked(now):
            return
        if len(self._running) >= self.spec.max_running:
            return
        job = self._waiting[0]
        prompt = job.request.prompt
        cache = self.cache
        cache.connected = self.cache_server is CacheServer.OK
        cache.readable = self._pool.switches.readable
        hung = self._pool.switches.hung and cache.connected
        lookup = cache.look_up(prompt) if not hung else self._without_l2(prompt)
        if not cache.l0.acquire(prompt.blocks, job.nameless):
            return
        self._waiting.popleft()
        self._start(job, lookup, HANG_SECONDS if hung and lookup.found_l1 < lookup.requested else 0.0)

    def _start(self, job: Job, lookup: Lookup, wait_seconds: float) -> None:
        now, latency = self._timeline.now, self.spec.latency
        load = wait_seconds + latency.load_seconds(lookup)
        job.lookup, job.started = lookup, now
        job.loading_until = now + load
        job.first_token = self._busy_until = now + load + latency.prefill_seconds(lookup)
        self._running[id(job)] = job
        self.truth.count(lookup)
        self.engine_page.admitted(lookup, connected=self.cache.connected)
        if self.cache.connected:
            self.cache_page.looked_up(lookup, load)
            self._read_from_pool(job, lookup)
        life = self._life
        self._timeline.at(job.first_token, lambda: self._prefilled(job, lookup, life))

    def _read_from_pool(self, job: Job, lookup: Lookup) -> None:
        """The mount's share of a lookup: names looked up, files read."""
        chunk = self.spec.geometry.chunk_tokens
        in_l1, in_l2 = lookup.found_l1 // chunk, lookup.found_l2 // chunk
        if self._pool.switches.hung:
            self.mount.hang(self._timeline.wall())
            self.mount.stuck += 1
            return
        self.mount.found(lookup.requested // chunk - in_l1, in_l2)
        if lookup.unread:
            self.mount.failed_reads += in_l2
        elif in_l2:
            chunks = self.cache.chunks_of(job.request.prompt)[in_l1 : in_l1 + in_l2]
            self.mount.read(in_l2, self._pool.read(chunks))

    def _prefilled(self, job: Job, lookup: Lookup, life: int) -> None:
        """The first token is there; new chunks are kept."""
        if life != self._life:
            return
        latency = self.spec.latency
        timing = Timing(job.started - job.arrived, job.first_token - job.started)
        self.engine_page.prefilled(lookup, timing)
        if self.cache.connected:
            self._store(job, lookup)
        decode = latency.decode_seconds(job.request.answer_tokens)
        if job.on_first_token is not None:
            job.on_first_token(job)
        self._timeline.after(decode, lambda: self._finished(job, lookup, timing, life))
        self.go_on()

    def _store(self, job: Job, lookup: Lookup) -> None:
        """Keep new chunks in L1, and write them through to L2, where they arrive later."""
        prompt, geometry = job.request.prompt, self.spec.geometry
        kept = self.cache.store_l1(prompt, lookup)
        passed = 0 if self.spec.promotes or lookup.unread else lookup.found_l2 // geometry.chunk_tokens
        self.cache_page.stored_in_l1(kept, passed)
        chunks = self.cache.to_store(prompt, lookup)
        if not chunks:
            return
        self.cache_page.submitted_to_l2(len(chunks))
        life, seconds = self._life, self.spec.latency.l2_write_seconds
        self._timeline.after(seconds, lambda: self._written(chunks, seconds, life))

    def _written(self, chunks: tuple[int, ...], seconds: float, life: int) -> None:
        if self._pool.switches.hung:
            self.mount.stuck += 1
            return
        size = self.spec.geometry.chunk_bytes
        evicted = self._pool.evicted_chunks
        written = self._pool.write(chunks, size)
        self.mount.wrote(written, written * size)
        if self._pool.switches.writes != "lost":
            self.mount.failed_writes += len(chunks) - written
        if life == self._life:
            self.cache_page.completed_in_l2(written, len(chunks), seconds)
            self.cache_page.evicted_from_l2(self._pool.evicted_chunks - evicted)

    def _finished(self, job: Job, lookup: Lookup, timing: Timing, life: int) -> None:
        if life != self._life:
            return
        decode = self._timeline.now - job.first_token
        self.engine_page.finished(lookup, job.request.answer_tokens, Timing(timing.queue, timing.prefill, decode))
        del self._running[id(job)]
        self.cache.l0.release(job.request.prompt.blocks, job.nameless, job.request.answer_blocks)
        job.end(done=True)
        self.go_on()

    # what goes wrong

    def _without_l2(self, prompt: Prompt) -> Lookup:
        """A lookup that never hears from L2."""
        known, self.cache.l2 = self.cache.l2, _NOTHING
        try:
            return self.cache.look_up(prompt)
        finally:
            self.cache.l2 = known

    def _blocked(self, now: float) -> bool:
        """Requests wait for a cache server that does not answer: for a while when frozen, for good when gone."""
        if self.cache_server is CacheServer.OK or self.form is Form.EMBEDDED:
            return False
        if self.cache_server is CacheServer.GONE:
            return True
        return self._degraded_at is not None and now < self._degraded_at

    def set_cache_server(self, state: CacheServer) -> None:
        """The cache process freezes, goes, or comes back; back from gone it is a new process with an empty L1."""
        was, self.cache_server = self.cache_server, state
        if state is CacheServer.FROZEN:
            self._degraded_at = self._timeline.now + DEGRADE_SECONDS
            self._timeline.at(self._degraded_at, self.go_on)
        elif state is CacheServer.OK and was is CacheServer.GONE:
            self.cache.l1 = ChunkCache(self.sizes.l1_bytes)
            self.cache_page.restart(self._timeline.wall())
        self.go_on()

    def evict_l1(self, share: float) -> None:
        """Drop a share of what L1 holds, the least recently used first."""
        gone = self.cache.l1.evict(round(len(self.cache.l1) * share))
        self.cache_page.stored_in_l1(Stored(evicted=gone), 0)

    def stop(self) -> None:
        """The pod's processes end: what runs and waits is lost, L0 and L1 are empty."""
        lost = [*self._waiting, *self._running.values()]
        self.up = False
        self._life += 1
        self._waiting.clear()
        self._running.clear()
        self._busy_until = self._timeline.now
        self.truth.restarts += 1
        for job in lost:
            job.end(done=False)

    def start(self) -> None:
        """New processes, with the sizes that are set now."""
        self.up = True
        self._build()

    def restart(self) -> None:
        """Stop, and start again after a while."""
        if self.up:
            self.stop()
            self._timeline.after(self.spec.restart_seconds, self.start)

    def gauges(self) -> EngineGauges:
        now = self._timeline.now
        loading = sum(1 for job in self._running.values() if now < job.loading_until)
        waiting = len(self._waiting)
        deferred = waiting if self._blocked(now) else loading
        running = len(self._running) - (0 if self._blocked(now) else loading)
        l0 = self.cache.l0
        total = waiting if self._blocked(now) else waiting + loading
        return EngineGauges(running, total, deferred, loading, l0.held_blocks / l0.capacity_blocks)

    def render_engine(self) -> str:
        return self.engine_page.render(self.gauges())

    def render_cache(self) -> str:
        self.cache_page.ticked(self._timeline.now - self._ticked_at)
        self._ticked_at += int(self._timeline.now - self._ticked_at)
        return self.cache_page.render(self.cache.l1)


_NOTHING = ChunkCache(0)
