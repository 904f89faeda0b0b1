"""One simulated replica: vLLM with its LMCache, and on each of its engines a queue and one prefill at a time.

A request waits until the GPU is free for its prefill, is looked up then, loads what LMCache has, computes
the rest, and decodes beside others until its answer is complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from lab.sim.cache_server import CacheServer
from lab.sim.exposition.engine_series import EngineGauges, Miscounts, Timing
from lab.sim.exposition.vllm import EngineFacts, VllmPage
from lab.sim.job import Job
from lab.sim.mount import Mount
from lab.sim.pool import Pool
from lab.sim.rank import Rank, Run
from lab.sim.spec import EndpointSpec, Form
from lab.sim.telemetry import cache_page, vllm_form
from lab.sim.timeline import Timeline
from lab.sim.truth import Truth
from lab.sim.workload import Request
from tierdeck.fleet import Role
from tierdeck.sizing.blocks import BlockCache
from tierdeck.sizing.chunks import ChunkCache, Stored
from tierdeck.sizing.prompt import Prompt
from tierdeck.sizing.replica import Lookup, ReplicaCache

HANG_SECONDS = 20.0
"""How long a request waits for an L2 that does not come back, before it is computed."""
DEGRADE_SECONDS = 18.0
"""How long vLLM waits for a frozen cache server until it goes on without it."""
LOOKUP_TIMEOUT_SECONDS = 3.0
"""How long each request waits for an LMCache inside vLLM that did not start. Source: `lookup_timeout_ms`'s default."""


@dataclass(slots=True)
class Sizes:
    """Room in the tiers of one replica, in bytes."""

    l0_bytes: int
    l1_bytes: int

    def copy(self) -> Sizes:
        return Sizes(self.l0_bytes, self.l1_bytes)


class SimReplica:
    """A replica; what routers see of it, and what its processes export."""

    def __init__(
        self, name: str, form: Form, spec: EndpointSpec, pool: Pool, timeline: Timeline, role: Role = Role.BOTH
    ) -> None:
        self.name = name
        self.form = form
        self.role = role
        self.spec = spec
        self.sizes = Sizes(spec.l0_bytes, spec.l1_bytes)
        self.truth = Truth()
        self.up = True
        self.key_mask = 0
        self.cache_server = CacheServer.OK
        self.miscounts = Miscounts()
        self.held_seconds = 0.0
        """How long a request is held back before it comes to an engine's queue."""
        self._pool = pool
        self._timeline = timeline
        self._degraded_at: float | None = None
        self._turn = 0
        self._held_back: dict[int, Job] = {}
        self._life = 0
        self._ticked_at = timeline.now
        self.mount = Mount(timeline.wall())
        self._build()

    def _build(self) -> None:
        """Empty tiers and new pages, as after a start of all of the pod's processes."""
        geometry = self.spec.geometry
        facts = EngineFacts(self.spec.model, geometry, geometry.blocks_in(self.sizes.l0_bytes))
        self.engine_page = VllmPage(vllm_form(self.form), facts, self.miscounts, self.spec.ranks)
        self._ranks = [Rank(series, BlockCache(facts.l0_blocks)) for series in self.engine_page.engines]
        self.cache = ReplicaCache(
            geometry,
            self._ranks[0].l0,
            ChunkCache(self.sizes.l1_bytes),
            self._pool.chunks,
            promotes=self.spec.promotes,
        )
        self.cache.key_mask = self.key_mask
        instance = f"{self.spec.name}-{self.name}"
        self.cache_page = cache_page(self.form, facts, instance, self.spec.salts)
        self.engine_page.page.restart(self._started_at())
        self.cache_page.restart(self._started_at())

    def _started_at(self) -> float:
        """Now, in epoch seconds; no two processes of a real fleet start in the same millisecond."""
        return self._timeline.wall() - crc32(self.name.encode()) % 1000 / 1000

    def count_anew(self) -> None:
        """As if its processes had started just now, with what the tiers hold kept."""
        self.truth = Truth()
        self.engine_page.page.restart(self._started_at())
        self.cache_page.page.restart(self._started_at())

    @property
    def has_cache(self) -> bool:
        """It keeps KV in LMCache; a decode replica gets what it needs from prefill replicas."""
        return self.role is not Role.CONSUMER

    # what routers see

    @property
    def outstanding(self) -> int:
        first = self._ranks[0]  # routers ask often, and nearly always there is one
        rest = sum(rank.outstanding for rank in self._ranks[1:]) if len(self._ranks) > 1 else 0
        return len(self._held_back) + len(first.waiting) + len(first.running) + rest

    def held_tokens(self, prompt: Prompt) -> int:
        if len(self._ranks) == 1:
            return self.cache.held_tokens(prompt)
        return max(self._with_l0_of(rank).held_tokens(prompt) for rank in self._ranks)

    def _with_l0_of(self, rank: Rank) -> ReplicaCache:
        self.cache.l0 = rank.l0
        return self.cache

    # requests

    def submit(self, job: Job) -> None:
        """Take a request in; one that can never fit ends at once."""
        job.reserve(self.spec.geometry)
        needed = len(job.request.prompt.blocks) + job.nameless
        if not self.up or needed > self._ranks[0].l0.capacity_blocks:
            job.end(done=False)
        elif self.held_seconds:
            self._hold_back(job, self._life)
        else:
            self._queue(job)

    def _hold_back(self, job: Job, life: int) -> None:
        self._held_back[id(job)] = job

        def comes() -> None:
            if life == self._life:
                self._queue(self._held_back.pop(id(job)))

        self._timeline.after(self.held_seconds, comes)

    def _queue(self, job: Job) -> None:
        """The engine with the least to do gets it; those with equally much take turns."""
        rank = self._ranks[0]
        if len(self._ranks) > 1:
            self._turn += 1
            in_turn = [self._ranks[(self._turn + offset) % len(self._ranks)] for offset in range(len(self._ranks))]
            rank = min(in_turn, key=lambda each: each.outstanding)
        rank.waiting.append(job)
        self._go_on(rank)

    def go_on(self) -> None:
        """Start what can start on each engine."""
        for rank in self._ranks:
            self._go_on(rank)

    def _go_on(self, rank: Rank) -> None:
        """Start the next request if the GPU is free and there is room for it."""
        now = self._timeline.now
        if not rank.waiting or now < rank.busy_until or not self.up or self._blocked(now):
            return
        if len(rank.running) >= self.spec.max_running:
            return
        job = rank.waiting[0]
        if id(job) in rank.preempted:
            self._resume(job, rank)
            return
        request = job.request
        hung = self._pool.switches.hung and self._is_connected
        lookup = self._look_up(request, rank)
        if not rank.l0.acquire(request.prompt.blocks, job.nameless):
            return
        rank.waiting.popleft()
        self._start(job, lookup, rank, HANG_SECONDS if hung and lookup.found_l1 < lookup.requested else 0.0)

    @property
    def _is_connected(self) -> bool:
        return self.cache_server is CacheServer.OK and self.has_cache

    def _look_up(self, request: Request, rank: Rank) -> Lookup:
        cache, switches, prompt = self._with_l0_of(rank), self._pool.switches, request.prompt
        cache.connected = self._is_connected
        cache.readable = switches.readable
        if cache.connected and (switches.hung or not switches.found):
            return self._without_l2(prompt)
        lookup = cache.look_up(prompt)
        if request.prefilled and not self.has_cache:
            return Lookup(lookup.tokens, lookup.l0, transferred=max(0, lookup.tokens - 1 - lookup.l0))
        return lookup

    def _start(self, job: Job, lookup: Lookup, rank: Rank, wait_seconds: float) -> None:
        now, latency, connected = self._timeline.now, self.spec.latency, self.cache.connected
        load = wait_seconds + latency.load_seconds(lookup)
        job.lookup, job.started = lookup, now
        job.loading_until = now + load
        job.first_token = rank.busy_until = now + load + latency.prefill_seconds(lookup)
        run = rank.running[id(job)] = Run(job, lookup)
        self.truth.count(lookup)
        asks = connected or lookup.transferred > 0 or self.cache_server is CacheServer.NEVER_STARTED
        rank.series.admitted(lookup, wait_seconds + latency.read_seconds(lookup), connected=asks)
        if connected:
            self.cache_page.looked_up(lookup, load, job.request.salt)
            self._read_from_pool(job, lookup)
        self._timeline.at(job.first_token, lambda: self._prefilled(run, rank))

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

    def _prefilled(self, run: Run, rank: Rank) -> None:
        """The first token is there; new chunks are kept."""
        if not rank.runs(run):
            return
        job = run.job
        # vLLM schedules a request once the server's load is done; what LMCache inside it loads is part of the prefill
        scheduled = job.loading_until if self.form is Form.MULTI_PROCESS else job.started
        run.timing = Timing(scheduled - job.arrived, job.first_token - scheduled)
        rank.series.prefilled(run.lookup, run.timing)
        if self._with_l0_of(rank).connected:
            self._store(job, run.lookup)
        run.decode_left = self.spec.latency.decode_seconds(job.request.answer_tokens)
        if job.on_first_token is not None:
            job.on_first_token(job)
        self._decode(run, rank)

    def _decode(self, run: Run, rank: Rank) -> None:
        ends_at = run.ends_at = self._timeline.now + run.decode_left
        self._timeline.at(ends_at, lambda: self._finished(run, rank, ends_at))
        self._go_on(rank)

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
        written = self._pool.write(chunks, size, self.spec.model)
        self.mount.wrote(written, written * size)
        if self._pool.switches.writes != "lost":
            self.mount.failed_writes += len(chunks) - written
        if life == self._life:
            self.cache_page.completed_in_l2(written, len(chunks), seconds)
            self.cache_page.evicted_from_l2(self._pool.evicted_chunks - evicted)

    def _finished(self, run: Run, rank: Rank, ends_at: float) -> None:
        if not rank.runs(run) or run.ends_at != ends_at or run.timing is None:
            return
        job, timing = run.job, run.timing
        decode = self._timeline.now - job.first_token
        timing = Timing(timing.queue, timing.prefill, decode)
        rank.series.finished(run.lookup, job.request.answer_tokens, timing, run.preemptions)
        self.engine_page.answered()
        rank.release(run, job.request.answer_blocks)
        job.end(done=True)
        self._go_on(rank)

    # preemption

    def preempt(self) -> None:
        """Each engine takes a request off its batch, which is scheduled again as soon as the GPU is free."""
        for rank in self._ranks:
            if rank.preempt(self._timeline.now):
                self._go_on(rank)

    def _resume(self, job: Job, rank: Rank) -> None:
        """A preempted request computes anew what L0 lost of it, and goes on."""
        run, blocks = rank.preempted[id(job)], job.request.prompt.blocks
        kept = rank.l0.match(blocks[: (job.request.prompt.tokens - 1) // self.spec.geometry.block_tokens])
        if not rank.l0.acquire(blocks, job.nameless):
            return
        rank.waiting.popleft()
        del rank.preempted[id(job)]
        lookup = Lookup(run.lookup.tokens, kept * self.spec.geometry.block_tokens)
        rank.running[id(job)] = run
        rank.series.resumed(lookup)
        rank.busy_until = self._timeline.now + self.spec.latency.prefill_seconds(lookup)

        def computed() -> None:
            if rank.runs(run):
                self._decode(run, rank)

        self._timeline.at(rank.busy_until, computed)

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
        if self.cache_server is CacheServer.OK or self.form is not Form.MULTI_PROCESS:
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

    def drop_l0(self) -> None:
        """Forget all that no running request holds (`/reset_prefix_cache`)."""
        for rank in self._ranks:
            rank.l0.drop_idle()

    def stop(self) -> None:
        """The pod's processes end: what runs and waits is lost, L0 and L1 are empty."""
        lost = [*self._held_back.values(), *(job for rank in self._ranks for job in rank.empty())]
        self._held_back.clear()
        self.up = False
        self._life += 1
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

    def gauges(self) -> list[EngineGauges]:
        """One for each engine; what is held back counts with the first."""
        now = self._timeline.now
        blocked, held_back = self._blocked(now), len(self._held_back)
        return [
            rank.gauges(now, blocked=blocked, held_back=0 if number else held_back)
            for number, rank in enumerate(self._ranks)
        ]

    def render_engine(self) -> str:
        return self.engine_page.render(self.gauges())

    def render_cache(self) -> str:
        self.cache_page.ticked(self._timeline.now - self._ticked_at)
        self._ticked_at += int(self._timeline.now - self._ticked_at)
        return self.cache_page.render(self.cache.l1)


_NOTHING = ChunkCache(0)
