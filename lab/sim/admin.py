"""The lab's own API under /admin: what the fleet is, and how to change or break it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web

from lab.sim.endpoint import SimEndpoint
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME, FAULTS
from lab.sim.fleet import Fleet
from lab.sim.traces import play_trace
from lab.sim.workloads import BY_NAME as WORKLOADS
from tierdeck.errors import UsageError
from tierdeck.routing import RoutingStrategy
from tierdeck.units import parse_size

_MOST_REPLICAS = 64
_FASTEST = 10_000
Handler = Callable[[web.Request], Awaitable[web.Response]]


def state(fleet: Fleet) -> dict[str, object]:
    """Everything about the fleet, the truth included."""
    return {
        "seed": fleet.seed,
        "speed": fleet.timeline.speed,
        "simulated_seconds": round(fleet.timeline.now, 3),
        "endpoints": {name: _endpoint(endpoint) for name, endpoint in fleet.endpoints.items()},
        "pool": {
            "name": fleet.spec.pool_name,
            "size_bytes": sum(worker.capacity_bytes for worker in fleet.pool.workers),
            "used_bytes": fleet.pool.chunks.used_bytes,
            "workers": {"live": len(fleet.pool.live), "all": len(fleet.pool.workers)},
        },
        "faults": {
            fault.name: {"on": fault.name in fleet.faults, "seen": fault.seen, **_where(fleet, fault.name)}
            for fault in FAULTS
        },
    }


def _where(fleet: Fleet, name: str) -> dict[str, str]:
    if name not in fleet.faults:
        return {}
    target = fleet.faults[name][1]
    return {"endpoint": target.endpoint, "replica": target.replica}


def _endpoint(endpoint: SimEndpoint) -> dict[str, object]:
    sizes = endpoint.replicas[0].sizes
    return {
        "model": endpoint.spec.model,
        "strategy": str(endpoint.strategy),
        "workload": endpoint.workload.name if endpoint.workload else "",
        "requests_per_second": endpoint.requests_per_second,
        "failed_requests": endpoint.failed_requests,
        "rolling": endpoint.is_rolling,
        "sizes": {"l0_bytes": sizes.l0_bytes, "l1_bytes": sizes.l1_bytes},
        "replicas": {
            replica.name: {
                "up": replica.up,
                "form": str(replica.form),
                "role": str(replica.role),
                "truth": replica.truth.document(),
            }
            for replica in endpoint.replicas
        },
    }


def routes(fleet: Fleet, advance: Callable[[], None], on_change: Callable[[Fleet], None]) -> list[web.RouteDef]:
    """The routes of /admin.

    Args:
        advance: brings the fleet up to now, so that a change happens at its moment.
        on_change: told after each change.
    """
    actions = {"strategy": _strategy, "sizes": _sizes, "replicas": _replicas, "faults": _faults, "traffic": _traffic}

    async def get(request: web.Request) -> web.Response:
        advance()
        return web.json_response(state(fleet))

    def post(action: Callable[[Fleet, dict[str, Any]], None]) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            try:
                document = await request.json()
                if not isinstance(document, dict):
                    raise UsageError("The body must be a JSON object")  # noqa: TRY301
                advance()
                action(fleet, document)
                on_change(fleet)
            except (UsageError, json.JSONDecodeError) as error:
                told = error.line() if isinstance(error, UsageError) else str(error)
                return web.json_response({"error": told}, status=400)
            return web.json_response(state(fleet))

        return handle

    return [web.get("/admin", get), *(web.post(f"/admin/{name}", post(action)) for name, action in actions.items())]


def _strategy(fleet: Fleet, document: dict[str, Any]) -> None:
    """`{"endpoint", "strategy"}`."""
    try:
        strategy = RoutingStrategy(str(document.get("strategy")))
    except ValueError as error:
        raise UsageError(f"There is no strategy {document.get('strategy')!r}", ", ".join(RoutingStrategy)) from error
    _named(fleet, document).set_strategy(strategy)


def _sizes(fleet: Fleet, document: dict[str, Any]) -> None:
    """`{"endpoint", "l0", "l1"}` for its replicas, `{"l2"}` for the pool; sizes with units or in bytes."""
    l0, l1, l2 = (_size(document, name) for name in ("l0", "l1", "l2"))
    if l0 is not None or l1 is not None:
        _named(fleet, document).resize(l0, l1)
    if l2 is not None:
        fleet.pool.resize(l2)


def _replicas(fleet: Fleet, document: dict[str, Any]) -> None:
    """`{"endpoint", "count"}`."""
    count = document.get("count")
    if not isinstance(count, int) or not 1 <= count <= _MOST_REPLICAS:
        raise UsageError(f"count lies between 1 and {_MOST_REPLICAS}")
    _named(fleet, document).scale(count)


def _faults(fleet: Fleet, document: dict[str, Any]) -> None:
    """`{"name", "on"}`, and where: `endpoint`, `replica`; by default the first."""
    fault = BY_NAME.get(str(document.get("name")))
    if fault is None or not isinstance(document.get("on"), bool):
        raise UsageError('A fault is switched with {"name": …, "on": true or false}', "GET /admin lists the faults.")
    endpoint = str(document.get("endpoint") or next(iter(fleet.endpoints)))
    target = FaultTarget(endpoint, str(document.get("replica") or ""))
    fleet.replica(target)
    fleet.switch(fault, target, on=document["on"])


def _traffic(fleet: Fleet, document: dict[str, Any]) -> None:
    """`{"endpoint", "workload" or "trace", "requests_per_second"}`."""
    endpoint = _named(fleet, document)
    rate, workload, trace = (document.get(name) for name in ("requests_per_second", "workload", "trace"))
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= _FASTEST):
        raise UsageError("requests_per_second lies above 0 and at most at 10,000")
    if workload is not None and workload not in WORKLOADS:
        raise UsageError(f"There is no workload {workload!r}", ", ".join(WORKLOADS))
    if trace is not None and (workload is not None or not isinstance(trace, str)):
        raise UsageError("Name a workload, or the file of a trace")
    if trace is not None:
        play_trace(fleet, endpoint.spec.name, Path(trace), rate)
        return
    endpoint.requests_per_second = float(rate) if rate is not None else endpoint.requests_per_second
    if workload is not None:
        fleet.play(endpoint.spec.name, WORKLOADS[workload])
    elif rate is not None and endpoint.workload is not None:
        fleet.play(endpoint.spec.name, endpoint.workload)


def _named(fleet: Fleet, document: dict[str, Any]) -> SimEndpoint:
    name = document.get("endpoint")
    if name not in fleet.endpoints:
        raise UsageError(f"There is no endpoint {name!r}", ", ".join(fleet.endpoints))
    return fleet.endpoints[name]


def _size(document: dict[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    size = parse_size(str(value))
    if size < 1:
        raise UsageError(f"{name} must be above 0")
    return size
