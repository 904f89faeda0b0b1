"""How a router chooses the replica for a request."""

from __future__ import annotations

from enum import StrEnum


class RoutingStrategy(StrEnum):
    """Strategies, spelled as HyperPod's operator and production-stack's router spell them."""

    ROUNDROBIN = "roundrobin"
    SESSION = "session"
    PREFIXAWARE = "prefixaware"
    KVAWARE = "kvaware"
