"""Ready-made fleets, from one that fits a test to a thousand replicas."""

from __future__ import annotations

from collections.abc import Callable

from lab.sim.layouts import layouts
from lab.sim.rhythm import Rhythm
from lab.sim.spec import EndpointSpec, FleetSpec, Form, RouterKind
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Geometry

GIB = 2**30
_QWEN_7B = Geometry(block_tokens=64, chunk_tokens=256, kv_bytes_per_token=57_344)
"""Qwen2-7B in bf16, as in the article; larger blocks than vLLM's 16 tokens keep the simulation quick."""
_MP, _EMBEDDED = Form.MULTI_PROCESS, Form.EMBEDDED


def small() -> FleetSpec:
    """The default: three endpoints of different character on one pool, all tiers in play."""
    return FleetSpec(
        endpoints=(
            EndpointSpec(
                name="chat",
                model="qwen2-7b-chat",
                workload="chat",
                forms=(_MP, _MP, _MP),
                strategy=RoutingStrategy.ROUNDROBIN,
                requests_per_second=2.0,
                l0_bytes=5 * GIB,
                l1_bytes=12 * GIB,
                geometry=_QWEN_7B,
                promotes=True,
            ),
            EndpointSpec(
                name="rag",
                model="qwen2-7b-rag",
                workload="rag",
                forms=(_MP, _MP),
                strategy=RoutingStrategy.KVAWARE,
                requests_per_second=1.2,
                l0_bytes=4 * GIB,
                l1_bytes=14 * GIB,
                geometry=_QWEN_7B,
                router=RouterKind.PRODUCTION_STACK,
            ),
            EndpointSpec(
                name="batch",
                model="qwen2-7b-batch",
                workload="batch",
                forms=(_MP, _EMBEDDED),
                strategy=RoutingStrategy.ROUNDROBIN,
                requests_per_second=2.0,
                l0_bytes=2 * GIB,
                l1_bytes=5 * GIB,
                geometry=_QWEN_7B,
            ),
        ),
        worker_bytes=(40 * GIB,) * 3,
        rhythm=Rhythm(swing=0.3),
    )


def article() -> FleetSpec:
    """The article's: two replicas with LMCache inside vLLM 0.11.1, a worker of 100 GiB on each node."""
    return FleetSpec(
        endpoints=(
            EndpointSpec(
                name="article",
                model="qwen2-7b-instruct",
                workload="chat",
                forms=(_EMBEDDED, _EMBEDDED),
                strategy=RoutingStrategy.PREFIXAWARE,
                requests_per_second=1.4,
                l0_bytes=3 * GIB,
                l1_bytes=4 * GIB,
                geometry=_QWEN_7B,
                router=RouterKind.PRODUCTION_STACK,
            ),
        ),
        worker_bytes=(100 * GIB,) * 2,
        rhythm=Rhythm(swing=0.3),
    )


def large(endpoints: int = 100, replicas: int = 10) -> FleetSpec:
    """A thousand replicas, each with little traffic: it is the scrapes that count."""
    workloads = ("chat", "rag", "batch", "agents")
    strategies = tuple(RoutingStrategy)
    return FleetSpec(
        endpoints=tuple(
            EndpointSpec(
                name=f"model-{number:03}",
                model=f"model-{number:03}",
                workload=workloads[number % len(workloads)],
                forms=(_MP,) * replicas,
                strategy=strategies[number // len(workloads) % len(strategies)],
                requests_per_second=0.05 * replicas,
                l0_bytes=4 * GIB,
                l1_bytes=4 * GIB,
                geometry=Geometry(block_tokens=128, chunk_tokens=256, kv_bytes_per_token=57_344),
            )
            for number in range(endpoints)
        ),
        worker_bytes=(400 * GIB,) * 8,
        rhythm=Rhythm(swing=0.3),
    )


SCALES: dict[str, Callable[[], FleetSpec]] = {"small": small, "article": article, "large": large, "layouts": layouts}
