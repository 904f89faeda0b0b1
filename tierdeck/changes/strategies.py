"""The routing strategies that each kind of router has, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping

from tierdeck.routing import RoutingStrategy

PURPOSES: Mapping[str, str] = {
    "roundrobin": "Each replica in turn: even load, whatever the prompts are.",
    "session": "A session stays on one replica, where its past is cached. Clients have to send a session key.",
    "prefixaware": "Prompts that begin alike go to the same replica: for long system prompts and shared documents.",
    "kvaware": "The replica whose cache holds most of the prompt, as LMCache's controller says. Not for chat requests.",
    "round_robin": "Each replica in turn: even load, whatever the prompts are.",
    "cache_aware": "Prompts that begin alike go to the same replica, until the load is uneven.",
    "consistent_hash": "A session stays on one replica, where its past is cached. Clients have to send a session key.",
    "sticky_least_loaded": "A session stays on the replica that had the least to do when it began.",
    "power_of_two": "The less loaded of two replicas that are drawn: even load, whatever the prompts are.",
    "random": "A replica drawn for each request; what others are compared with.",
    "kv_aware": "The replica that holds most of the prompt, as the engines' KV events tell; they have to be on.",
}
"""In a sentence or two."""

PRODUCTION_STACK = tuple(
    str(one)
    for one in (
        RoutingStrategy.ROUNDROBIN,
        RoutingStrategy.SESSION,
        RoutingStrategy.PREFIXAWARE,
        RoutingStrategy.KVAWARE,
    )
)
"""Source: production-stack, operator/api/v1alpha1/vllmrouter_types.go (enum of routingLogic); HyperPod's
InferenceEndpointConfig, spec.intelligentRoutingSpec.routingStrategy, has the same."""
VLLM_ROUTER = (
    "cache_aware",
    "round_robin",
    "consistent_hash",
    "sticky_least_loaded",
    "power_of_two",
    "random",
    "kv_aware",
)
"""Source: vllm-router 0.1.17, `--policy`."""

_OF_BACKEND = ("hyperpod", "hyperpod-jumpstart", "production-stack", "production-stack-helm")


def strategies_of(backend: str, current: str) -> tuple[str, ...]:
    """What the endpoint's router can be set to; empty: it can't be told which router it has.

    Args:
        backend: as `Deployed.backend`.
        current: the strategy that is configured; where anything may be the router, its spelling tells which one is.
    """
    if backend in _OF_BACKEND or current in PRODUCTION_STACK:
        return PRODUCTION_STACK
    return VLLM_ROUTER if current in VLLM_ROUTER else ()
