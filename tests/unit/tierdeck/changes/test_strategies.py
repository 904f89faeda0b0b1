"""Which strategies a router has."""

from __future__ import annotations

from tierdeck.changes.strategies import PRODUCTION_STACK, PURPOSES, VLLM_ROUTER, strategies_of
from tierdeck.routing import RoutingStrategy


def test_every_strategy_says_what_it_is_for() -> None:
    assert set(PRODUCTION_STACK) == set(RoutingStrategy)
    assert set(PURPOSES) == {*PRODUCTION_STACK, *VLLM_ROUTER}


def test_a_backend_with_one_kind_of_router_has_its_strategies() -> None:
    assert strategies_of("hyperpod", "") == PRODUCTION_STACK
    assert strategies_of("production-stack-helm", "prefixaware") == PRODUCTION_STACK


def test_elsewhere_the_spelling_tells_which_router_there_is() -> None:
    assert strategies_of("deployment", "cache_aware") == VLLM_ROUTER
    assert strategies_of("static", "roundrobin") == PRODUCTION_STACK
    assert strategies_of("deployment", "") == ()
    assert strategies_of("deployment", "homemade") == ()
