"""Fleets of unusual layout: prefill and decode apart, data-parallel engines, tenants, an engine of before."""

from __future__ import annotations

from lab.sim.rhythm import Rhythm
from lab.sim.spec import EndpointSpec, FleetSpec, Form, RouterKind
from tierdeck.fleet import Role
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Geometry

_GIB = 2**30
_QWEN_7B = Geometry(block_tokens=64, chunk_tokens=256, kv_bytes_per_token=57_344)
_MP, _OLDER = Form.MULTI_PROCESS, Form.OLDER


def layouts() -> FleetSpec:
    """Four endpoints on one pool, each laid out in a way that metrics show differently."""
    return FleetSpec(
        endpoints=(
            EndpointSpec(
                name="apart",
                model="qwen2-7b-apart",
                workload="chat",
                forms=(_MP, _MP, _MP),
                roles=(Role.PRODUCER, Role.PRODUCER, Role.CONSUMER),
                strategy=RoutingStrategy.ROUNDROBIN,
                requests_per_second=1.2,
                l0_bytes=4 * _GIB,
                l1_bytes=10 * _GIB,
                geometry=_QWEN_7B,
            ),
            EndpointSpec(
                name="parallel",
                model="qwen2-7b-parallel",
                workload="agents",
                forms=(_MP,),
                ranks=4,
                strategy=RoutingStrategy.ROUNDROBIN,
                requests_per_second=1.5,
                l0_bytes=2 * _GIB,
                l1_bytes=16 * _GIB,
                geometry=_QWEN_7B,
                router=RouterKind.PRODUCTION_STACK,
            ),
            EndpointSpec(
                name="tenants",
                model="qwen2-7b-tenants",
                workload="chat",
                forms=(_MP, _MP),
                tenants=(("search", 0.6), ("support", 0.3), ("trial", 0.1)),
                strategy=RoutingStrategy.ROUNDROBIN,
                requests_per_second=1.2,
                l0_bytes=3 * _GIB,
                l1_bytes=8 * _GIB,
                geometry=_QWEN_7B,
            ),
            EndpointSpec(
                name="older",
                model="qwen2-7b-older",
                workload="chat",
                forms=(_OLDER, _OLDER),
                strategy=RoutingStrategy.SESSION,
                requests_per_second=1.0,
                l0_bytes=3 * _GIB,
                l1_bytes=6 * _GIB,
                geometry=_QWEN_7B,
                router=RouterKind.PRODUCTION_STACK,
            ),
        ),
        worker_bytes=(60 * _GIB,) * 3,
        rhythm=Rhythm(swing=0.3),
    )
