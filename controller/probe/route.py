"""Where a probe sends to: the router that clients use, and each engine behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint, Role, SourceKind

_METRICS = "/metrics"


@dataclass(frozen=True, slots=True)
class Engine:
    """One replica's engine.

    Attributes:
        base: before `/v1/completions`.
        metrics: its page.
    """

    base: str
    metrics: str


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint as a client reaches it.

    Attributes:
        router: before `/v1/completions`.
        engines: by replica.
        settle_seconds: until a router that goes by caches has heard of what an engine just computed.
        session_names: the headers in which routers look for a session.
        is_session_known: the router is known to look there (`--session-key`); else a router that pays no heed to the
            sessions may just look elsewhere.
        served_by: the headers of an answer that may name the replica.
    """

    endpoint: str
    router: str
    engines: Mapping[str, Engine]
    settle_seconds: float = 2.0
    session_names: tuple[str, ...] = ("x-session-id", "x-user-id")
    served_by: tuple[str, ...] = ("x-served-by",)
    is_session_known: bool = False


def route_of(endpoint: Endpoint, *, router: str = "", lab: str = "", session_header: str = "") -> Route:
    """From what the store knows of an endpoint.

    Args:
        router: its address, where it is told; wins.
        lab: the address of the simulated fleet, where the endpoint is of one.
        session_header: in which its router looks for a session; empty: not known, the usual ones are tried.

    Raises:
        UsageError: nothing tells where the router is.
    """
    engines = {
        one.key.replica: Engine(_base(target.url), target.url)
        for one in endpoint.replicas
        if not one.key.shared and one.role is not Role.CONSUMER
        for target in one.targets
        if target.kind is SourceKind.VLLM and target.is_scraped
    }
    pages = [
        target.url
        for one in endpoint.replicas
        for target in one.targets
        if target.kind is SourceKind.ROUTER and target.is_scraped
    ]
    if lab and any(page.startswith(lab) for page in (*pages, *(engine.metrics for engine in engines.values()))):
        return lab_route(lab, endpoint.name, tuple(engines))
    address = (router or (_base(pages[0]) if pages else "")).rstrip("/").removesuffix("/v1")
    if urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"Nothing tells where the router of {endpoint.name} is", "Give its address with --router URL.")
    if session_header:
        return Route(endpoint.name, address, engines, session_names=(session_header,), is_session_known=True)
    return Route(endpoint.name, address, engines)


def lab_route(lab: str, endpoint: str, replicas: tuple[str, ...]) -> Route:
    """An endpoint of the simulated fleet."""
    base = f"{lab.rstrip('/')}/{endpoint}"
    engines = {name: Engine(f"{base}/{name}", f"{base}/{name}/vllm{_METRICS}") for name in replicas}
    return Route(endpoint, base, engines, settle_seconds=0.2, is_session_known=True)


def _base(page: str) -> str:
    return page.partition("?")[0].removesuffix(_METRICS)
