"""Probes over real HTTP: of the simulated fleet under each strategy, and of routers that don't behave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from controller.__main__ import app
from controller.probe.prober import MOST_SECONDS, Chosen, probe
from controller.probe.route import Engine, Route, lab_route, route_of
from db import Store
from lab.sim.fleet import Fleet
from tests.support.http_replies import Canned, replying
from tests.support.lab_served import served_lab
from tests.support.proofs import first_that_tells
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.errors import UnreachableError, UsageError
from tierdeck.fleet import FLEET, Endpoint, Replica, ReplicaKey, Target
from tierdeck.routing import RoutingStrategy

CHATS = ("chat-0", "chat-1", "chat-2")


@pytest.fixture(scope="module")
def lab() -> Iterator[tuple[Fleet, str]]:
    with served_lab() as found:
        yield found


def proved(lab: tuple[Fleet, str], wished: str, replicas: tuple[str, ...] = CHATS) -> Proof:
    return probe(lab_route(lab[1], replicas[0].partition("-")[0], replicas), wished)


@pytest.mark.parametrize("strategy", list(RoutingStrategy))
def test_no_strategy_that_is_in_effect_is_denied_and_the_bounds_are_kept(
    lab: tuple[Fleet, str], strategy: RoutingStrategy
) -> None:
    lab[0].endpoints["chat"].set_strategy(strategy)
    proof = proved(lab, strategy)
    assert proof.verdict is not Verdict.APPLIED_NOT_EFFECTIVE, proof
    assert proof.verdict is Verdict.EFFECTIVE or proof.requests == 20
    assert proof.requests <= 20
    assert proof.seconds <= MOST_SECONDS
    assert {name for name, _ in proof.tokens} <= set(CHATS)


@pytest.mark.parametrize("strategy", list(RoutingStrategy))
def test_a_strategy_that_is_applied_and_not_in_effect_is_never_called_effective(
    lab: tuple[Fleet, str], strategy: RoutingStrategy
) -> None:
    endpoint = lab[0].endpoints["chat"]
    for other in RoutingStrategy:
        if other is not strategy:
            endpoint.set_strategy(other)
            endpoint.stick(on=True)
            endpoint.set_strategy(strategy)
            assert endpoint.strategy is strategy
            proof = proved(lab, strategy)
            endpoint.stick(on=False)
            assert proof.verdict is not Verdict.EFFECTIVE, (other, proof)


def test_where_no_header_tells_the_engines_counters_do(lab: tuple[Fleet, str]) -> None:
    lab[0].endpoints["chat"].set_strategy(RoutingStrategy.SESSION)
    unnamed = replace(lab_route(lab[1], "chat", CHATS), served_by=())
    proof = first_that_tells(lambda: probe(unnamed, "session"), lambda one: one.verdict)
    assert proof.verdict is Verdict.EFFECTIVE, proof
    assert proof.evidence[-1] == "Asked by completions; who served them is known from the engines' counters."


def test_a_router_that_may_look_for_sessions_elsewhere_is_not_blamed(lab: tuple[Fleet, str]) -> None:
    lab[0].endpoints["chat"].set_strategy(RoutingStrategy.SESSION)
    elsewhere = replace(lab_route(lab[1], "chat", CHATS), session_names=("x-other",), is_session_known=False)
    proof = probe(elsewhere, "session")
    assert proof.verdict is Verdict.CANNOT_TELL, proof


def test_each_request_is_tagged_and_none_is_sent_beyond_twenty() -> None:
    with replying(Canned(body=json.dumps({"data": [{"id": "m"}]}))) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        engines = {name: Engine(f"{address}/{name}", f"{address}/{name}/metrics") for name in "ab"}
        proof = probe(Route("chat", address, engines), "session")
    sent = [one for one in server.asked if one.target == "/v1/completions"]
    assert (proof.verdict, proof.requests, len(sent)) == (Verdict.CANNOT_TELL, 20, 20)
    assert proof.evidence[0] == "Where the requests landed is not known."
    assert len({one.headers["x-tierdeck-probe"] for one in sent}) == 1
    assert len({one.headers["x-request-id"] for one in sent}) == 20


def test_a_redirect_is_not_followed() -> None:
    elsewhere = Canned(307, headers={"Location": "http://127.0.0.1:9/v1/models"})
    with replying(elsewhere) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        with pytest.raises(UnreachableError, match="No engine of the endpoint answers"):
            probe(Route("chat", address, {"a": Engine(address, f"{address}/metrics")}), "session")


def test_one_replica_is_asked_nothing(lab: tuple[Fleet, str]) -> None:
    proof = probe(lab_route(lab[1], "chat", ("chat-0",)), "session")
    assert (proof.verdict, proof.requests) == (Verdict.CANNOT_TELL, 0)
    assert proof.evidence == ("With one replica every strategy does the same.",)


def test_a_router_that_is_not_there_is_unreachable() -> None:
    route = Route("chat", "http://127.0.0.1:9", {"a": Engine("http://127.0.0.1:9", "http://127.0.0.1:9/metrics")})
    with pytest.raises(UnreachableError, match="No engine of the endpoint answers"):
        probe(route, "session", Chosen())


def key(replica: str) -> ReplicaKey:
    return ReplicaKey("east", "chat", replica)


def declared(*router: str) -> Endpoint:
    engines = [
        Replica(key(name), (Target(key(name), "vllm", f"http://10.0.0.{number}:8000/metrics"),))
        for number, name in enumerate("ab", 1)
    ]
    shared = Replica(key(FLEET), tuple(Target(key(FLEET), f"router.{n}", url) for n, url in enumerate(router)))
    return Endpoint("east", "chat", (*engines, shared), strategy="session")


def test_the_routers_page_tells_where_it_is_and_an_address_that_is_given_wins() -> None:
    route = route_of(declared("http://10.0.0.9:8001/metrics"))
    assert (route.router, route.engines["a"].base) == ("http://10.0.0.9:8001", "http://10.0.0.1:8000")
    assert route_of(declared(), router="http://router/v1/").router == "http://router"
    with pytest.raises(UsageError, match=re.escape("Nothing tells where the router of chat is")):
        route_of(declared())


def by_command() -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["probe", "chat", "--json"])
    return done.exit_code, json.loads(done.stdout)


def test_the_command_tells_the_verdict_and_keeps_the_proof(
    lab: tuple[Fleet, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = lab[1]
    lab[0].endpoints["chat"].set_strategy(RoutingStrategy.SESSION)
    replicas = [
        Replica(
            ReplicaKey("default", "chat", name),
            (Target(ReplicaKey("default", "chat", name), "vllm", f"{address}/chat/{name}/vllm/metrics"),),
        )
        for name in CHATS
    ]
    monkeypatch.setenv("TIERDECK_HOME", str(tmp_path))
    monkeypatch.setenv("TIERDECK_LAB_URL", address)
    with Store.open(f"sqlite:///{tmp_path / 'tierdeck.db'}", migrate=True) as store:
        store.declare(
            "default", [Endpoint("default", "chat", tuple(replicas), strategy="session")], [], "config", "test"
        )
    code, told = first_that_tells(by_command, lambda one: str(one[1]["verdict"]))
    assert (code, told["verdict"], told["wished"]) == (0, "effective", "session")
    with Store.open(f"sqlite:///{tmp_path / 'tierdeck.db'}") as store:
        kept = store.last_proof("default", "chat")
    assert kept is not None
    assert kept.evidence == tuple(told["evidence"])
    monkeypatch.setenv("TIERDECK_PROBE_ROUTING", "false")
    refused = CliRunner().invoke(app, ["probe", "chat"])
    assert isinstance(refused.exception, UsageError)  # exit code 2, once the process ends
