"""The simulated fleet: endpoints, their pool, one timeline. It does nothing by itself: time is moved from outside."""

from __future__ import annotations

import json

from lab.sim.cache_server import CacheServer
from lab.sim.endpoint import SimEndpoint
from lab.sim.engine import SimReplica
from lab.sim.exposition.curvine import FusePage, MasterPage, WorkerPage, overview_document, workers_document
from lab.sim.fault import Address, Fault, FaultTarget
from lab.sim.pool import Pool
from lab.sim.spec import FleetSpec, Form
from lab.sim.telemetry import cache_source, version_answer
from lab.sim.timeline import Timeline
from lab.sim.workload import Workload
from lab.sim.workloads import BY_NAME
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET

LOST_AFTER_SECONDS = 600.0
"""A worker that is silent for so long counts as lost; before, as blacklisted. Source: Curvine's heartbeat checker."""


class NoAnswerError(Exception):
    """The process has no metrics to give; `hangs`: it takes the connection and stays silent."""

    def __init__(self, reason: str, *, hangs: bool = False, status: int = 503) -> None:
        super().__init__(reason)
        self.hangs = hangs
        self.status = status


class Fleet:
    """All that is simulated. Same spec, seed and calls: same fleet."""

    def __init__(self, spec: FleetSpec, seed: int, began_at: float, speed: float = 1.0) -> None:
        """
        Args:
            began_at: epoch seconds at which the fleet's processes started.
        """
        self.spec = spec
        self.seed = seed
        self.timeline = Timeline(began_at, speed)
        self.pool = Pool(spec.worker_bytes, began_at, evicting=spec.pool_evicts, clock=self.timeline.wall)
        self.endpoints = {endpoint.name: SimEndpoint(endpoint, self.pool, self.timeline) for endpoint in spec.endpoints}
        self.faults: dict[str, tuple[Fault, FaultTarget]] = {}
        self.lost_at: dict[int, float] = {}
        self._master = MasterPage(began_at, len(spec.worker_bytes))
        self._workers = [WorkerPage(began_at) for _ in spec.worker_bytes]
        self._fuses: dict[str, FusePage] = {}
        self.usual = {endpoint.name: BY_NAME[endpoint.workload] for endpoint in spec.endpoints}
        """The traffic that an endpoint goes back to."""
        for endpoint in spec.endpoints:
            self.play_usual(endpoint.name)

    def play(self, endpoint: str, workload: Workload, seed: int | None = None) -> None:
        """Another kind of traffic for an endpoint, from now on."""
        number = list(self.endpoints).index(endpoint)
        chosen = self.seed * 1000 + number if seed is None else seed
        self.endpoints[endpoint].play(workload, chosen, self.spec.rhythm)

    def play_usual(self, endpoint: str) -> None:
        """The traffic that the endpoint was made for, or the trace that took its place."""
        self.play(endpoint, self.usual[endpoint])

    def advance(self, seconds: float) -> None:
        """Let simulated seconds pass."""
        self.timeline.run_until(self.timeline.now + seconds)

    def catch_up(self, wall: float) -> None:
        """Let pass what a wall clock that shows `wall` asks for."""
        self.timeline.run_until((wall - self.timeline.began_at) * self.timeline.speed)

    def count_anew(self) -> None:
        """All engines and caches start counting now, warm: nobody takes what came before for the present's."""
        for endpoint in self.endpoints.values():
            for replica in endpoint.replicas:
                replica.count_anew()

    # faults

    def switch(self, fault: Fault, target: FaultTarget, *, on: bool) -> None:
        """Switch a fault on or off; again the same is nothing."""
        known = self.faults.get(fault.name)
        if on and known is None:
            fault.on(self, target)
            self.faults[fault.name] = (fault, target)
        elif not on and known is not None:
            fault.off(self, known[1])
            self.faults.pop(fault.name, None)

    def replica(self, target: FaultTarget) -> SimReplica:
        """The replica that a target names.

        Raises:
            UsageError: there is none.
        """
        try:
            endpoint = self.endpoints[target.endpoint]
            return endpoint.replica(target.replica) if target.replica else endpoint.replicas[0]
        except KeyError as error:
            raise UsageError(f"There is no {error.args[0]}", "GET /admin lists endpoints and replicas.") from error

    # what is exported

    def targets(self) -> list[tuple[str, str, str]]:
        """(endpoint or pool, replica or `_fleet`, source) of everything that can be scraped."""
        found = []
        for name, endpoint in self.endpoints.items():
            for replica in endpoint.replicas:
                found.append((name, replica.name, "vllm"))
                if replica.has_cache:
                    found.append((name, replica.name, cache_source(replica.form)))
            found.append((name, FLEET, "router"))
            if any(replica.has_cache and replica.form is Form.MULTI_PROCESS for replica in endpoint.replicas):
                found.append((name, FLEET, "lmcache-coordinator"))
        pool = self.spec.pool_name
        found += [(pool, FLEET, "curvine-master"), (pool, FLEET, "curvine-master-api")]
        found += [(pool, FLEET, f"curvine-worker.{number}") for number in range(len(self.pool.workers))]
        found += [
            (pool, FLEET, f"curvine-fuse.{replica.name}")
            for endpoint in self.endpoints.values()
            for replica in endpoint.replicas
            if replica.has_cache
        ]
        return found

    def body(self, owner: str, replica: str, source: str) -> str:
        """What a target answers now.

        Raises:
            KeyError: no such target.
            NoAnswerError: the process behind it does not answer.
        """
        for fault, target in self.faults.values():
            if fault.silences((owner, replica, source), target):
                raise NoAnswerError(f"{fault.name} is on", hangs=True)
        text = self._pool_body(source) if owner == self.spec.pool_name else self._endpoint_body(owner, replica, source)
        for fault, target in self.faults.values():
            text = fault.exported(text, (owner, replica, source), target)
        return text

    def _endpoint_body(self, endpoint: str, name: str, source: str) -> str:
        found = self.endpoints[endpoint]
        if name in found.gone:
            raise NoAnswerError("the pod is gone")
        if name == FLEET:
            return {"router": found.render_router, "lmcache-coordinator": found.render_coordinator}[source]()
        replica = self._running(found, name, source)
        return replica.render_engine() if source == "vllm" else replica.render_cache()

    def version(self, owner: str, name: str, source: str) -> str:
        """What an engine or a cache answers when asked for its version.

        Raises:
            KeyError: nobody is asked for it there.
            NoAnswerError: the process does not answer.
        """
        text = version_answer(self._running(self.endpoints[owner], name, source).form, source)
        for fault, target in self.faults.values():
            text = fault.version_told(text, (owner, name, source), target)
        return text

    def _running(self, found: SimEndpoint, name: str, source: str) -> SimReplica:
        """The replica, of which the process behind a source answers."""
        if name in found.gone:
            raise NoAnswerError("the pod is gone")
        replica = found.replica(name)
        if source != "vllm" and not (replica.has_cache and source == cache_source(replica.form)):
            raise KeyError(source)
        if not replica.up:
            raise NoAnswerError("the replica is starting")
        if source != "vllm" and replica.cache_server in (CacheServer.FROZEN, CacheServer.GONE):
            frozen = replica.cache_server is CacheServer.FROZEN
            raise NoAnswerError(f"the cache server is {replica.cache_server}", hangs=frozen)
        return replica

    def _pool_body(self, source: str) -> str:
        kind, _, which = source.partition(".")
        now = self.timeline.wall()
        if kind == "curvine-master":
            return self._master.render(self.pool, self._lost())
        if kind == "curvine-master-api":
            return json.dumps(workers_document(self.pool, now))
        if kind == "curvine-worker":
            worker = self.pool.workers[int(which)]
            if not worker.alive:
                raise NoAnswerError("the worker is gone")
            return self._workers[int(which)].render(worker)
        for endpoint in self.endpoints.values():
            for replica in endpoint.replicas:
                if replica.name == which and kind == "curvine-fuse":
                    page = self._fuses.setdefault(which, FusePage(replica.mount.started_at))
                    return page.render(replica.mount, now)
        raise KeyError(source)

    def delay_seconds(self, address: Address) -> float:
        """How much longer than usual an answer takes, in seconds of the wall clock."""
        return max((fault.delay_seconds(address, target) for fault, target in self.faults.values()), default=0.0)

    def overview(self) -> dict[str, object]:
        """What Curvine's `/api/overview` answers."""
        return overview_document(self.pool, self.timeline.began_at)

    def _lost(self) -> int:
        now = self.timeline.now
        return sum(1 for at in self.lost_at.values() if now - at >= LOST_AFTER_SECONDS)
