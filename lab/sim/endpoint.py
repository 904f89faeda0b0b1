"""One simulated endpoint: a router, the replicas behind it, and the traffic that comes in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from lab.sim.engine import SimReplica
from lab.sim.exposition.lmcache_mp import CoordinatorPage
from lab.sim.exposition.routers import Backend, ProductionStackPage, RouterPage, VllmRouterPage
from lab.sim.job import EndCall, Job
from lab.sim.pool import Pool
from lab.sim.rhythm import Rhythm
from lab.sim.spec import EndpointSpec, Form, RouterKind
from lab.sim.timeline import Timeline
from lab.sim.workload import Request, Workload
from lab.sim.workloads.tenants import Tenants
from tierdeck.errors import UsageError
from tierdeck.fleet import Role
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt
from tierdeck.sizing.routing import make_router

_NO_PROMPT = Prompt(1, ())
MIRROR_SECONDS = 20.0
"""How much later a mirrored request comes."""


class SimEndpoint:
    """A model's replicas behind one router."""

    def __init__(self, spec: EndpointSpec, pool: Pool, timeline: Timeline) -> None:
        self.spec = spec
        self.strategy = spec.strategy
        self.effective_strategy = spec.strategy
        self.requests_per_second = spec.requests_per_second
        self.workload: Workload | None = None
        self.failed_requests = 0
        self._pool = pool
        self._timeline = timeline
        self._rhythm = Rhythm()
        self._traffic = 0
        self._next_number = 0
        self._stuck_on: RoutingStrategy | None = None
        self._mirrored_to: SimEndpoint | None = None
        self.heard_until: int | None = None
        """The pool's evictions that the coordinator's directory has heard of; None: all."""
        self.reads_chats = True
        """Whether kvaware sees the prompts of chat completions."""
        self.router_up = True
        self._rolls_until = timeline.now
        self.replicas: list[SimReplica] = []
        self.gone: set[str] = set()
        """Names of the pods that were here, and are no more."""
        self.set_key_space(spec.model)
        for form, role in zip(spec.forms, spec.roles or (Role.BOTH,) * len(spec.forms), strict=True):
            self.replicas.append(self._new_replica(form, role))
        self.coordinator = CoordinatorPage()
        self.coordinator.page.restart(timeline.wall())
        self._router = make_router(spec.strategy)
        self.router_page = self._new_router_page()

    # routing

    def set_strategy(self, strategy: RoutingStrategy) -> None:
        """The router restarts with another strategy and an empty memory."""
        self.strategy = strategy
        self.effective_strategy = self._stuck_on or strategy
        self._router = make_router(self.effective_strategy)
        self.router_page = self._new_router_page()

    def stick(self, *, on: bool) -> None:
        """Whatever is configured from now on, requests are routed as they are now."""
        self._stuck_on = self.effective_strategy if on else None
        self.set_strategy(self.strategy)

    def submit(self, job: Job) -> SimReplica | None:
        """Route a request; None where no replica is up, or no router."""
        candidates = [replica for replica in self.replicas if replica.up and replica.role is not Role.CONSUMER]
        if not candidates or not self.router_up:
            self._fail(job)
            return None
        prompt = self._seen_by_router(job.request)
        chosen = candidates[self._router.choose(prompt, candidates)]
        self.router_page.routed(chosen.name, is_hit=chosen.cache.l0.match(prompt.blocks[:1]) > 0)
        if chosen.role is Role.PRODUCER:
            self._prefill_first(job, chosen)
        else:
            self.send(job, chosen)
        return chosen

    def _seen_by_router(self, request: Request) -> Prompt:
        is_blind = request.is_chat and not self.reads_chats and self.effective_strategy is RoutingStrategy.KVAWARE
        return _NO_PROMPT if is_blind else request.prompt

    def _prefill_first(self, wanted: Job, producer: SimReplica) -> None:
        """Prefill and decode apart: a prefill replica answers one token, then a decode replica takes over."""

        def prefilled(job: Job, *, done: bool) -> None:
            consumers = [replica for replica in self.replicas if replica.up and replica.role is Role.CONSUMER]
            if not done or not consumers:
                self._fail(wanted)
                return
            wanted.request = replace(wanted.request, prefilled=True)
            wanted.arrived = self._timeline.now
            self.send(wanted, min(consumers, key=lambda replica: replica.outstanding))

        request = replace(wanted.request, answer_tokens=1, answer_blocks=())
        producer.submit(Job(request, wanted.arrived, on_end=prefilled))

    def _fail(self, job: Job) -> None:
        self.failed_requests += 1
        job.end(done=False)

    def send(self, job: Job, replica: SimReplica) -> None:
        """Hand a request to a replica, whatever the router would do."""
        job.on_end = self._noting(job, replica)
        replica.submit(job)

    def _noting(self, job: Job, replica: SimReplica) -> EndCall:
        told, page, began = job.on_end, self.router_page, job.request.at if job.request.prefilled else job.arrived

        def ended(job: Job, *, done: bool) -> None:
            if done:
                page.ended(replica.name, self._timeline.now - began)
            else:
                self.failed_requests += 1
            if told is not None:
                told(job, done=done)

        return ended

    # traffic

    def play(self, workload: Workload, seed: int, rhythm: Rhythm) -> None:
        """From now on this traffic comes in; what came before ends."""
        played = Tenants(workload, self.spec.tenants) if self.spec.tenants else workload
        requests = played.requests(seed, self.pace, self._timeline.now, self.spec.geometry.block_tokens)
        self.workload = workload
        self._rhythm = rhythm
        self._traffic += 1
        self._plan(requests, self._traffic)

    def pace(self, at: float) -> float:
        """Requests a second that are wanted at a simulated moment."""
        return self.requests_per_second * self._rhythm.factor(self._timeline.wall(at))

    def _plan(self, requests: Iterator[Request], traffic: int) -> None:
        request = next(requests)

        def arrives() -> None:
            if traffic == self._traffic:
                self.submit(Job(request, self._timeline.now))
                self._mirror(request)
                self._plan(requests, traffic)

        self._timeline.at(request.at, arrives)

    def mirror_to(self, other: SimEndpoint | None) -> None:
        """From now on another endpoint gets all requests as well, a little later; None: no longer."""
        self._mirrored_to = other

    def _mirror(self, request: Request) -> None:
        other = self._mirrored_to
        if other is not None:

            def arrives() -> None:
                other.submit(Job(request, self._timeline.now))

            self._timeline.after(MIRROR_SECONDS, arrives)

    # replicas

    def set_key_space(self, model_path: str, *, hash_seeds: bool = False) -> None:
        """Under which names chunks are kept in the caches.

        Args:
            hash_seeds: each replica hashes with a seed of its own.
        """
        self._key_mask = _mask(model_path)
        for replica in self.replicas:
            seed = _mask(replica.name) if hash_seeds else 0
            replica.key_mask = replica.cache.key_mask = self._key_mask ^ seed

    def resize(self, l0_bytes: int | None, l1_bytes: int | None) -> None:
        """Roll new sizes out: one replica after the other stops and starts with empty tiers."""
        if l0_bytes is not None:
            try:
                self.spec.geometry.blocks_in(l0_bytes)
            except ValueError as error:
                raise UsageError(str(error)) from error
        for replica in self.replicas:
            replica.sizes.l0_bytes = l0_bytes if l0_bytes is not None else replica.sizes.l0_bytes
            replica.sizes.l1_bytes = l1_bytes if l1_bytes is not None else replica.sizes.l1_bytes
        pause = self.spec.restart_seconds + 1
        self._rolls_until = self._timeline.now + len(self.replicas) * pause
        for turn, replica in enumerate(self.replicas):
            self._timeline.after(turn * pause, replica.restart)

    @property
    def is_rolling(self) -> bool:
        """New sizes are being rolled out."""
        return self._timeline.now < self._rolls_until

    def scale(self, count: int) -> None:
        """More replicas come cold, fewer lose the last ones."""
        while len(self.replicas) < count:
            last = self.replicas[-1]
            self.replicas.append(self._new_replica(last.form, last.role))
        for replica in self.replicas[count:]:
            replica.stop()
            self.gone.add(replica.name)
        del self.replicas[count:]
        self.router_page = self._new_router_page()

    def replica(self, name: str) -> SimReplica:
        """The replica of a name.

        Raises:
            KeyError: none is called so.
        """
        return {replica.name: replica for replica in self.replicas}[name]

    def replace(self, replica: SimReplica) -> SimReplica:
        """A pod goes for good, and one of another name takes its place, cold, as soon as it has started."""
        new = self._new_replica(replica.form, replica.role)
        new.up = False
        self.replicas[self.replicas.index(replica)] = new
        replica.stop()
        self.gone.add(replica.name)
        self._timeline.after(self.spec.restart_seconds, new.start)
        self.router_page = self._new_router_page()
        return new

    def _new_replica(self, form: Form, role: Role) -> SimReplica:
        name = f"{self.spec.name}-{self._next_number}"
        replica = SimReplica(name, form, self.spec, self._pool, self._timeline, role)
        self._next_number += 1
        if self.replicas:
            replica.sizes = self.replicas[0].sizes.copy()
        replica.key_mask = replica.cache.key_mask = self._key_mask
        return replica

    # what is exported

    def _new_router_page(self) -> RouterPage:
        names = [replica.name for replica in self.replicas]
        if self.spec.router is RouterKind.VLLM_ROUTER:
            return VllmRouterPage(self.strategy, names)
        return ProductionStackPage(names)

    def render_router(self) -> str:
        backends = [
            Backend(
                replica.name,
                replica.up,
                replica.outstanding,
                *replica.engine_page.lookups,
                replica.gauges()[-1].kv_usage,
            )
            for replica in self.replicas
        ]
        return self.router_page.render(backends, self.pace(self._timeline.now))

    @property
    def unheard_evictions(self) -> int:
        """Chunks that are gone, and still stand in the coordinator's directory."""
        return 0 if self.heard_until is None else self._pool.evicted_chunks - self.heard_until

    def render_coordinator(self) -> str:
        chunk_bytes = self.spec.geometry.chunk_bytes
        in_l1 = sum(len(replica.cache.l1) for replica in self.replicas)
        in_l2 = len(self._pool.chunks) + self.unheard_evictions
        return self.coordinator.render({"l1": (in_l1, in_l1 * chunk_bytes), "l2": (in_l2, in_l2 * chunk_bytes)})


def _mask(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 2
