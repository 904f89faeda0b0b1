"""Where the metrics of a pod are: one target per process that exports some.

Sources: collectors/sources (paths and default ports); vLLM (`--port`, 8000); LMCache documentation,
"Configuring the Internal API Server" (port start 6999; the scheduler there, worker N at start + 1 + N);
LMCache 0.5.6, `lmcache server --http-port` (8080), `lmcache coordinator --port` (9300); vllm-router 0.1.17
(`--prometheus-port`, 29000); production-stack's router (`--port`, 8001).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.objects import Raw
from controller.reading.fields import text
from controller.reading.lmcache import Settings, connectors, is_on
from controller.reading.processes import Process, port_of
from controller.reading.sizes import ranks_of
from tierdeck.fleet import ReplicaKey, SourceKind, Target

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def url(address: str, port: int, path: str = "/metrics", scheme: str = "http") -> str:
    host = f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}:{port}{path}"


def engine_target(key: ReplicaKey, pod: Raw, engine: Process, port: int | None = None) -> Target | None:
    """The engine's own page; None where it serves none (`--headless`).

    Args:
        port: as the source states it; wins over the container's.
    """
    if engine.command.has("--headless"):
        return None
    chosen = port_of(engine.command.value("--port")) or port or engine.port() or 8000
    scheme = "https" if engine.command.has("--ssl-certfile") else "http"
    return Target(key, SourceKind.VLLM.value, url(text(pod, "status", "podIP"), chosen, scheme=scheme))


def embedded_targets(key: ReplicaKey, pod: Raw, engine: Process) -> Iterator[Target]:
    """LMCache's workers inside the engine, where their API server is on and what vLLM exports lacks them."""
    settings = Settings(engine)
    if embedded_problem(engine) or not is_on(settings.get("internal_api_server_enabled")):
        return
    if engine.environment.value("PROMETHEUS_MULTIPROC_DIR"):
        return  # then vLLM's page has LMCache's metrics of all ranks
    start, ranks = port_of(settings.value("internal_api_server_port_start")) or 6999, ranks_of(engine)
    for rank in range(ranks if isinstance(ranks, int) else 1):
        if start + 1 + rank < 65536:
            yield Target(key, f"{SourceKind.LMCACHE}.{rank}", url(text(pod, "status", "podIP"), start + 1 + rank))


def embedded_problem(engine: Process) -> str:
    """Why LMCache's workers inside an engine can't be scraped though their API server is on."""
    settings = Settings(engine)
    if not is_on(settings.get("internal_api_server_enabled")) or engine.environment.value("PROMETHEUS_MULTIPROC_DIR"):
        return ""
    if settings.value("internal_api_server_socket_path_prefix"):
        return "LMCache's internal API server is on sockets, which can't be scraped."
    host = settings.value("internal_api_server_host")
    if not host or host in LOOPBACK:
        return "LMCache's internal API server listens on 127.0.0.1: internal_api_server_host 0.0.0.0 opens it."
    return ""


def hidden_problem(engine: Process) -> str:
    """What is to be said where LMCache is inside the engine and its metrics are nowhere."""
    settings = Settings(engine)
    is_used = any(name == "LMCacheConnectorV1" for name in connectors(engine))
    if not is_used or engine.environment.value("PROMETHEUS_MULTIPROC_DIR"):
        return ""
    if is_on(settings.get("internal_api_server_enabled")) or engine.environment.hidden:
        return ""
    return ("LMCache inside the engine exports nothing: set PROMETHEUS_MULTIPROC_DIR, or "
            "internal_api_server_enabled with its host.")  # fmt: skip


def server_target(key: ReplicaKey, pod: Raw, server: Process, suffix: str = "") -> Target:
    port = port_of(server.command.value("--http-port")) or server.port("http") or 8080
    name = SourceKind.LMCACHE_MP.value + (f".{suffix}" if suffix else "")
    return Target(key, name, url(text(pod, "status", "podIP"), port))


def coordinator_target(key: ReplicaKey, pod: Raw, coordinator: Process, suffix: str) -> Target:
    port = port_of(coordinator.command.value("--port")) or coordinator.port() or 9300
    return Target(key, f"{SourceKind.LMCACHE_COORDINATOR}.{suffix}", url(text(pod, "status", "podIP"), port))


def router_target(key: ReplicaKey, pod: Raw, router: Process, suffix: str, port: int | None = None) -> Target:
    """Of vllm-router its Prometheus port, of any other its own.

    Args:
        port: of a router whose arguments don't tell it.
    """
    command = router.command
    if is_vllm_router(router):
        chosen = port_of(command.value("--prometheus-port")) or router.port("prometheus") or 29000
    else:
        chosen = port_of(command.value("--port")) or router.port() or port or 8001
    return Target(key, f"{SourceKind.ROUTER}.{suffix}", url(text(pod, "status", "podIP"), chosen))


def is_vllm_router(router: Process) -> bool:
    """vllm-router (`--policy`, `--worker-urls`), not production-stack's."""
    command = router.command
    if command.has("--routing-logic"):
        return False  # production-stack's command is called vllm-router too
    return command.runs("vllm-router") or command.has("--policy") or command.has("--worker-urls")
