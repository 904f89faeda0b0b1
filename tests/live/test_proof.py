"""The real router's strategy, proved by its behaviour: switched, proved, and switched back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from controller.probe.prober import MOST_SECONDS, probe
from controller.probe.route import Engine, Route
from tests.live.fleet import LiveFleet
from tests.support.proofs import first_that_tells
from tierdeck.changes.proof import Proof, Verdict


@pytest.fixture(autouse=True)
def _back_to_roundrobin(fleet: LiveFleet) -> Iterator[None]:
    yield
    if fleet.state()["strategy"] != "roundrobin":
        fleet.switch("roundrobin")


def route(fleet: LiveFleet) -> Route:
    """Its router as a client reaches it, and both engines; no header tells who served a request."""
    state = fleet.state()
    engines = {
        name: Engine(replica["engine"], f"{replica['engine']}/metrics") for name, replica in state["replicas"].items()
    }
    return Route("real", state["router"], engines, is_session_known=True)  # vllm-router takes X-Session-ID


def proved(fleet: LiveFleet, wished: str, say: Callable[[str], None]) -> Proof:
    """The first probe that tells: one that can't is no wrong one (a ring may send the first sessions all one way)."""

    def once() -> Proof:
        proof = probe(route(fleet), wished)
        said = f"{proof.verdict} by {proof.requests} requests in {proof.seconds:.1f} s; {' '.join(proof.evidence)}"
        say(f"{wished}: {said}")
        assert proof.requests <= 20
        assert proof.seconds <= MOST_SECONDS
        return proof

    return first_that_tells(once, lambda one: one.verdict)


def test_roundrobin_to_cache_aware_and_back_is_proved_each_time(fleet: LiveFleet, say: Callable[[str], None]) -> None:
    before = proved(fleet, "roundrobin", say)
    fleet.switch("prefixaware")  # the router starts again with --policy cache_aware
    switched = proved(fleet, "cache_aware", say)
    fleet.switch("roundrobin")
    after = proved(fleet, "roundrobin", say)
    assert [one.verdict for one in (before, switched, after)] == [Verdict.EFFECTIVE] * 3, (before, switched, after)
    assert switched.seen == "cache_aware"


def test_a_strategy_that_is_not_in_effect_is_found_out(fleet: LiveFleet, say: Callable[[str], None]) -> None:
    proof = proved(fleet, "session", say)
    assert proof.verdict is Verdict.APPLIED_NOT_EFFECTIVE, proof


def test_sessions_are_proved(fleet: LiveFleet, say: Callable[[str], None]) -> None:
    fleet.switch("session")
    proof = proved(fleet, "session", say)
    assert proof.verdict is Verdict.EFFECTIVE, proof
