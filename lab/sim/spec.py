"""What a simulated fleet is made of: plain figures, from which it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from lab.sim.latency import LatencyModel
from lab.sim.rhythm import Rhythm
from tierdeck.fleet import Role
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Geometry

_ROUNDING = 1e-9


class Form(StrEnum):
    """How a replica's cache is attached, and so what it exports."""

    MULTI_PROCESS = "multi-process"
    """vLLM 0.32.0 with an LMCache 0.5.6 server beside it."""
    EMBEDDED = "embedded"
    """vLLM 0.11.1 with LMCache inside: the article's."""
    OLDER = "older"
    """vLLM 0.10.2 with LMCache inside: two generations of names, no external counters."""

    @property
    def versions(self) -> dict[str, str]:
        return {"vllm": _VLLM[self], "lmcache": "0.5.6"}


_VLLM = {Form.MULTI_PROCESS: "0.32.0", Form.EMBEDDED: "0.11.1", Form.OLDER: "0.10.2"}


class RouterKind(StrEnum):
    """Which router's page an endpoint has."""

    VLLM_ROUTER = "vllm-router"
    PRODUCTION_STACK = "production-stack"


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """One endpoint.

    Attributes:
        forms: one per replica.
        roles: one per replica where prefill and decode are apart; requests pass a replica of each kind.
        ranks: data-parallel engines behind one vLLM page, each with an L0 of its own.
        tenants: cache salts, and the share of the requests that each sends.
        promotes: L1 keeps what was loaded from L2 (LMCache's prefetch policy `retain`); by default it does not.
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
    roles: tuple[Role, ...] = ()
    ranks: int = 1
    tenants: tuple[tuple[str, float], ...] = ()
    router: RouterKind = RouterKind.VLLM_ROUTER
    promotes: bool = False
    max_running: int = 64
    restart_seconds: float = 20.0
    latency: LatencyModel = field(default_factory=LatencyModel)

    def __post_init__(self) -> None:
        if self.roles and (len(self.roles) != len(self.forms) or {*self.roles} != {Role.PRODUCER, Role.CONSUMER}):
            raise ValueError("prefill and decode are apart where each replica has a role, and both roles are there")
        if self.tenants and abs(sum(share for _, share in self.tenants) - 1) > _ROUNDING:
            raise ValueError("the tenants' shares of the requests are 1 together")

    @property
    def salts(self) -> tuple[str, ...]:
        """All cache salts in use; the empty one is that of requests without a salt."""
        return ("", *(salt for salt, _ in self.tenants))


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
