"""What a simulated fleet is made of: plain figures, from which it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from lab.sim.latency import LatencyModel
from lab.sim.rhythm import Rhythm
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Geometry


class Form(StrEnum):
    """How a replica's cache is attached, and so what it exports."""

    MULTI_PROCESS = "multi-process"
    """vLLM 0.32.0 with an LMCache 0.5.6 server beside it."""
    EMBEDDED = "embedded"
    """vLLM 0.11.1 with LMCache inside: the article's."""

    @property
    def versions(self) -> dict[str, str]:
        if self is Form.MULTI_PROCESS:
            return {"vllm": "0.32.0", "lmcache": "0.5.6"}
        return {"vllm": "0.11.1", "lmcache": "0.5.6"}


class RouterKind(StrEnum):
    """Which router's page an endpoint has."""

    VLLM_ROUTER = "vllm-router"
    PRODUCTION_STACK = "production-stack"


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """One endpoint.

    Attributes:
        forms: one per replica.
        requests_per_second: of the whole endpoint, averaged over a day.
        restart_seconds: until a replica that stopped answers again.
    """

    name: str
    model: str
    workload: str
    forms: tuple[Form, ...]
    strategy: RoutingStrategy
    requests_per_second: float
    l0_bytes: int
    l1_bytes: int
    geometry: Geometry
    router: RouterKind = RouterKind.VLLM_ROUTER
    promotes: bool = False
    max_running: int = 64
    restart_seconds: float = 20.0
    latency: LatencyModel = field(default_factory=LatencyModel)


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """Endpoints and the pool that they share."""

    endpoints: tuple[EndpointSpec, ...]
    worker_bytes: tuple[int, ...]
    rhythm: Rhythm = field(default_factory=Rhythm)
    pool_evicts: bool = True
    pool_name: str = "curvine"

    def __post_init__(self) -> None:
        names = [endpoint.name for endpoint in self.endpoints]
        if not names or len(set(names)) != len(names):
            raise ValueError("a fleet has endpoints, each with a name of its own")
