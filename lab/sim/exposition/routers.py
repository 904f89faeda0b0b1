"""Routers' pages: vllm-router's own counters, and production-stack's gauges with the label `server`.

Source: vllm-router 0.1.17 recorded; production-stack's metrics service read, its copies of engine series
being gauges under names that end in `_total`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lab.sim.exposition.page import Layout, Page
from lab.sim.exposition.shape import FamilyShape, Labels, Shape, gauges, recorded
from tierdeck.routing import RoutingStrategy

POLICIES = {
    RoutingStrategy.ROUNDROBIN: "round_robin",
    RoutingStrategy.SESSION: "consistent_hash",
    RoutingStrategy.PREFIXAWARE: "cache_aware",
    RoutingStrategy.KVAWARE: "kv_aware",
}


@dataclass(frozen=True, slots=True)
class Backend:
    """One replica as a router knows it; the counts are the engine's."""

    name: str
    up: bool
    running: int
    queries: float
    hits: float
    kv_usage: float


class RouterPage(Protocol):
    """What a router counts and exports."""

    def routed(self, worker: str, *, is_hit: bool) -> None: ...
    def ended(self, worker: str, seconds: float) -> None: ...
    def render(self, backends: Sequence[Backend], qps: float) -> str: ...


def _late(family: FamilyShape, labels: Labels) -> bool:
    return family.type in ("counter", "histogram")


class VllmRouterPage:
    """vllm-router on its Prometheus port; a change of policy is a restart."""

    def __init__(self, strategy: RoutingStrategy, workers: Sequence[str]) -> None:
        policy = POLICIES[strategy]
        shape = recorded("router").relabelled({"policy": policy})
        if strategy is not RoutingStrategy.PREFIXAWARE:
            shape = shape.without(("vllm_router_prefix_routing_decisions",))
        self._page = page = Page(Layout(shape.repeated("worker", map(url_of, workers)), late=_late))
        cell = page.cell
        self._decisions = {
            name: cell("vllm_router_policy_decisions_total", worker=url_of(name), policy=policy) for name in workers
        }
        self._processed = {name: cell("vllm_router_processed_requests_total", worker=url_of(name)) for name in workers}
        self._outcomes = {name: cell("vllm_router_cb_outcomes_total", worker=url_of(name)) for name in workers}
        self._running = {name: cell("vllm_router_running_requests", worker=url_of(name)) for name in workers}
        self._health = {name: cell("vllm_router_worker_health", worker=url_of(name)) for name in workers}
        self._prefix = {
            is_hit: cell("vllm_router_prefix_routing_decisions_total", outcome=f"prefix_{'hit' if is_hit else 'miss'}")
            for is_hit in (True, False)
        }
        self._requests = cell("vllm_router_requests_total")
        self._inputs = cell("vllm_router_kv_routing_inputs_total")
        self._active = cell("vllm_router_active_workers")
        self._duration = page.histogram("vllm_router_generate_duration_seconds")

    def routed(self, worker: str, *, is_hit: bool) -> None:
        self._requests.add(1)
        self._inputs.add(1)
        self._decisions[worker].add(1)
        if self._page.has("vllm_router_prefix_routing_decisions_total"):
            self._prefix[is_hit].add(1)

    def ended(self, worker: str, seconds: float) -> None:
        if worker in self._processed:
            self._processed[worker].add(1)
            self._outcomes[worker].add(1)
            self._duration.observe(seconds)

    def render(self, backends: Sequence[Backend], qps: float) -> str:
        self._active.set(sum(backend.up for backend in backends))
        for backend in backends:
            self._running[backend.name].set(backend.running)
            self._health[backend.name].set(int(backend.up))
        return self._page.render()


_PER_SERVER = {
    "vllm:current_qps": "Requests a second sent to a server",
    "vllm:num_requests_running": "Requests running on a server",
    "vllm:gpu_cache_usage_perc": "KV usage of a server",
    "vllm:gpu_prefix_cache_hits_total": "Prefix cache hits of a server",
    "vllm:gpu_prefix_cache_queries_total": "Prefix cache queries of a server",
    "vllm:gpu_prefix_cache_hit_rate": "Prefix cache hit rate of a server",
    "vllm:healthy_pods_total": "Healthy pods of a server",
}


class ProductionStackPage:
    """production-stack's router: gauges only, engine series copied from its own scrapes."""

    def __init__(self, workers: Sequence[str]) -> None:
        servers: list[Labels] = [(("server", url_of(name)),) for name in workers]
        self._page = page = Page(
            Layout(Shape(tuple(gauges(name, text, servers) for name, text in _PER_SERVER.items())))
        )
        self._cells = {
            name: {metric: page.cell(metric, server=url_of(name)) for metric in _PER_SERVER} for name in workers
        }

    def routed(self, worker: str, *, is_hit: bool) -> None:
        """It counts nothing itself."""

    def ended(self, worker: str, seconds: float) -> None:
        """It counts nothing itself."""

    def render(self, backends: Sequence[Backend], qps: float) -> str:
        for backend in backends:
            cells = self._cells[backend.name]
            values = (
                qps / len(backends),
                backend.running,
                backend.kv_usage,
                backend.hits,
                backend.queries,
                backend.hits / backend.queries if backend.queries else 0.0,
                backend.up,
            )
            for cell, value in zip(cells.values(), values, strict=True):
                cell.set(float(value))
        return self._page.render()


def url_of(worker: str) -> str:
    """How a router calls a replica."""
    return f"http://{worker}:8000"
