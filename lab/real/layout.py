"""Where everything in the fleet is and how much it holds: names, ports, folders, sizes."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from lab.real.model import KV_BYTES_PER_TOKEN
from tierdeck.routing import RoutingStrategy

REPLICAS = ("a", "b")
MODEL = "tiny"
"""The name under which it is served."""
BLOCK_TOKENS = 32
"""vLLM's attention on the CPU takes multiples of 32 only."""
CHUNK_TOKENS = 64
CONTEXT_TOKENS = 1024
L0_TOKENS = 4096
L1_BYTES = 4 * 2**20
L2_BYTES = 20 * 2**20
L1_TOKENS = L1_BYTES // KV_BYTES_PER_TOKEN
L2_TOKENS = L2_BYTES // KV_BYTES_PER_TOKEN
POLICIES = {
    RoutingStrategy.ROUNDROBIN: "round_robin",
    RoutingStrategy.PREFIXAWARE: "cache_aware",
    RoutingStrategy.SESSION: "consistent_hash",
    RoutingStrategy.KVAWARE: "kv_aware",
}
"""How vllm-router calls each strategy."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One engine and its cache server; ports are on the loopback."""

    name: str
    engine_port: int
    cache_port: int
    cache_http_port: int
    events_port: int

    @property
    def engine(self) -> str:
        return f"http://127.0.0.1:{self.engine_port}"

    @property
    def cache(self) -> str:
        return f"http://127.0.0.1:{self.cache_http_port}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole fleet on one machine.

    Attributes:
        folder: logs and the shared L2 directory.
        model: the folder of the model.
        short: a folder for sockets, whose paths have little room.
    """

    folder: Path
    model: Path
    short: Path
    replicas: tuple[Replica, ...]
    coordinator_port: int
    router_port: int
    router_metrics_port: int

    @property
    def l2(self) -> Path:
        """Stands in for a mounted Curvine pool."""
        return self.folder / "l2"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def coordinator(self) -> str:
        return f"http://127.0.0.1:{self.coordinator_port}"

    @property
    def router(self) -> str:
        return f"http://127.0.0.1:{self.router_port}"

    @property
    def router_metrics(self) -> str:
        return f"http://127.0.0.1:{self.router_metrics_port}"

    def events_socket(self, replica: Replica) -> Path:
        """Where an engine publishes what its L0 holds."""
        return self.short / replica.name

    def shared_memory(self, replica: Replica) -> str:
        """Name of the memory through which an engine and its cache server exchange KV."""
        return f"{self.short.name}-{replica.name}"


def lay_out(folder: Path, model: Path, short: Path) -> Layout:
    """A layout on ports that are free now."""
    ports = iter(free_ports(4 * len(REPLICAS) + 3))
    replicas = tuple(Replica(name, next(ports), next(ports), next(ports), next(ports)) for name in REPLICAS)
    return Layout(folder, model, short, replicas, next(ports), next(ports), next(ports))


def free_ports(count: int) -> list[int]:
    """Different ports of the loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
