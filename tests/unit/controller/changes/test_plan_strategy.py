"""Another strategy becomes the right write for the router in use, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.changes.planner import Load
from tests.support.plain_looks import (
    NOW,
    Documents,
    applied,
    changed,
    codes,
    container,
    edits,
    look_at,
    pick,
    planned,
    refused,
    turned,
)
from tierdeck.changes.plan import Carried, Carrying
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

GATE = ObjectRef("Deployment", "llm", "gate")
AT = "Deployment llm/gate spec.template.spec.containers[name=router]"
STACK = ["--service-discovery", "k8s", "--k8s-label-selector", "app=mistral"]
KVAWARE = Wish(strategy="kvaware")
ENGINE_ENV = [
    {"name": "LMCACHE_ENABLE_CONTROLLER", "value": "True"},
    {"name": "LMCACHE_CONTROLLER_PULL_URL", "value": "gate:9000"},
]


def stack(*args: str, **more: Any) -> Callable[[Documents], None]:
    """production-stack's router in place of vllm-router."""

    def change(found: Documents) -> None:
        pick(found, "Deployment", "gate")["spec"]["template"]["spec"]["containers"] = [
            {"name": "router", "image": "lmcache/lmstack-router:v0.1.7", "args": [*STACK, *args], **more}
        ]
        engine = container(found, "mistral")
        engine["env"] = [*engine["env"], *ENGINE_ENV]
        engine["image"] = "vllm/vllm-openai:v0.32.0"

    return change


def routed(*args: str, **more: Any) -> Documents:
    return changed("deployment", stack(*args, **more))


SWITCHES = [
    ("roundrobin", "prefixaware", []),
    ("prefixaware", "roundrobin", []),
    ("roundrobin", "session", ["--session-key", "x-user"]),
    ("session", "prefixaware", ["--session-key", "x-user"]),
    ("prefixaware", "kvaware", ["--lmcache-controller-port", "9000"]),
    ("kvaware", "session", ["--session-key", "x-user", "--lmcache-controller-port", "9000"]),
]


@pytest.mark.parametrize(("now", "wished", "more"), SWITCHES)
def test_a_router_is_told_by_its_argument(now: str, wished: str, more: list[str]) -> None:
    found = routed("--routing-logic", now, *more)
    made = planned(found, Wish(strategy=wished))
    before, after = [*STACK, "--routing-logic", now, *more], [*STACK, "--routing-logic", wished, *more]
    assert edits(made) == {f"{AT}.args": (before, after)}
    assert made.carries == (Carried(GATE, "router", Carrying.ARGUMENT, "--routing-logic", wished),)
    assert (made.restarts, made.loses, made.strategy) == ((GATE,), (), wished)
    assert (made.writes[0].address, made.writes[0].api_version) == (
        "/apis/apps/v1/namespaces/llm/deployments/gate",
        "apps/v1",
    )
    switched = applied(found, made)
    assert look_at(switched).deployed.configured.strategy.value == wished
    assert codes(refused(switched, Wish(strategy=wished))) == ["nothing_to_do"]
    assert applied(switched, turned(made)) == found


@pytest.mark.parametrize("policy", ["round_robin", "power_of_two", "random", "consistent_hash", "sticky_least_loaded"])
def test_vllm_router_has_policies_of_its_own(policy: str) -> None:
    found = changed("deployment")
    made = planned(found, Wish(strategy=policy))
    words = ["vllm-router", "--worker-urls", "http://mistral.llm.svc.cluster.local:8080", "--policy"]
    rest = ["--prometheus-port", "29001"]
    assert edits(made) == {f"{AT}.command": ([*words, "cache_aware", *rest], [*words, policy, *rest])}
    assert made.carries == (Carried(GATE, "router", Carrying.ARGUMENT, "--policy", policy),)
    is_sticky = policy in ("consistent_hash", "sticky_least_loaded")
    assert any("keeps a session together" in one for one in made.warnings) == is_sticky
    assert applied(applied(found, made), turned(made)) == found


def test_vllm_router_s_default_is_a_policy_that_it_has_already() -> None:
    def without(found: Documents) -> None:
        del container(found, "gate")["command"][3:5]

    assert codes(refused(changed("deployment", without), Wish(strategy="cache_aware"))) == ["nothing_to_do"]
    made = planned(changed("deployment", without), Wish(strategy="round_robin"))
    ((_, after),) = edits(made).values()
    assert after[-2:] == ["--policy", "round_robin"]  # type: ignore[index]


def test_vllm_router_s_kv_aware_needs_the_engines_events() -> None:
    (refusal,) = refused(changed("deployment"), Wish(strategy="kv_aware"))
    assert (refusal.code, "Deployment llm/mistral, container server has no --kv-events-config" in refusal.reason) == (
        "not_possible",
        True,
    )


def test_a_policy_of_prefill_and_decode_is_not_policy_s() -> None:
    def apart(found: Documents) -> None:
        container(found, "gate")["command"] += ["--prefill-policy", "random"]

    (refusal,) = refused(changed("deployment", apart), Wish(strategy="round_robin"))
    assert "--prefill-policy" in refusal.reason


def test_a_router_is_told_by_its_variable_where_it_is_told_by_one() -> None:
    found = routed(env=[{"name": "ROUTING_LOGIC", "value": "roundrobin"}])
    made = planned(found, Wish(strategy="prefixaware"))
    assert edits(made) == {f"{AT}.env[name=ROUTING_LOGIC].value": ("roundrobin", "prefixaware")}
    assert made.carries == (Carried(GATE, "router", Carrying.ENVIRONMENT, "ROUTING_LOGIC", "prefixaware"),)


def test_a_variable_from_elsewhere_is_refused() -> None:
    source = {"configMapKeyRef": {"name": "routing", "key": "logic"}}
    (refusal,) = refused(routed(env=[{"name": "ROUTING_LOGIC", "valueFrom": source}]), Wish(strategy="session"))
    assert refusal.code == "session_key_missing"
    (refusal,) = refused(routed(env=[{"name": "ROUTING_LOGIC", "valueFrom": source}]), Wish(strategy="prefixaware"))
    assert refusal.code == "not_possible"
    assert "ROUTING_LOGIC comes from configMapKeyRef routing logic" in refusal.reason


def test_without_a_router_there_is_no_strategy() -> None:
    def alone(found: Documents) -> None:
        found.remove(pick(found, "Deployment", "gate"))

    (refusal,) = refused(changed("deployment", alone), Wish(strategy="prefixaware"))
    assert (refusal.code, "a Service alone has no strategy" in refusal.reason) == ("not_possible", True)


@pytest.mark.parametrize("strategy", ["loadbalance", "disaggregated_prefill", "cache_aware"])
def test_a_strategy_that_the_router_has_not_is_refused_with_those_that_it_has(strategy: str) -> None:
    (refusal,) = refused(routed("--routing-logic", "roundrobin"), Wish(strategy=strategy))
    assert refusal.code == "unknown_strategy"
    assert refusal.fix == "Choose roundrobin, session, prefixaware, kvaware."


def test_prefill_and_decode_apart_stay_so() -> None:
    (refusal,) = refused(routed("--routing-logic", "disaggregated_prefill"), Wish(strategy="prefixaware"))
    assert (refusal.code, "(disaggregated_prefill)" in refusal.reason) == ("not_possible", True)


def test_session_needs_a_key() -> None:
    (refusal,) = refused(routed("--routing-logic", "roundrobin"), Wish(strategy="session"))
    assert (refusal.code, "--session-key" in refusal.fix) == ("session_key_missing", True)


def test_kvaware_needs_all_its_companions() -> None:
    def old(found: Documents) -> None:
        stack("--routing-logic", "roundrobin")(found)
        engine = container(found, "mistral")
        engine["env"], engine["image"] = engine["env"][:-2], "lmcache/vllm-openai:v0.3.9"

    found = refused(changed("deployment", old), KVAWARE, Load(chat_seen_at=NOW - 7200))
    assert codes(found) == ["kvaware_chat", "kvaware_controller", "kvaware_controller", "kvaware_versions"]
    assert "2.0 hours ago" in found[0].reason
    assert "lmcache 0.3.9; kvaware needs 0.4.3 or newer" in found[3].reason


def test_kvaware_is_refused_while_clients_chat_and_warned_of_where_that_is_not_known() -> None:
    found = routed("--routing-logic", "roundrobin", "--lmcache-controller-port", "9000")
    assert codes(refused(found, KVAWARE, Load(chat_seen_at=NOW - 86399))) == ["kvaware_chat"]
    known = planned(found, KVAWARE, Load(chat_seen_at=NOW - 86401))
    unknown = planned(found, KVAWARE)
    assert {one for one in unknown.warnings if one not in known.warnings} == {
        "Whether chat came within 24 hours is not known; kvaware routes chat as if its prompt were empty."
    }


def test_an_older_vllm_is_too_old_for_kvaware() -> None:
    def older(found: Documents) -> None:
        stack("--routing-logic", "roundrobin", "--lmcache-controller-port", "9000")(found)
        container(found, "mistral")["image"] = "vllm/vllm-openai:v0.19.0"

    assert codes(refused(changed("deployment", older), KVAWARE)) == ["kvaware_versions"]


def test_several_replicas_of_a_router_each_remember_for_themselves() -> None:
    def two(found: Documents) -> None:
        stack("--routing-logic", "roundrobin")(found)
        pick(found, "Deployment", "gate")["spec"]["replicas"] = 2

    made = planned(changed("deployment", two), Wish(strategy="prefixaware"))
    assert "Deployment llm/gate has 2 replicas, each of which remembers only what it routed itself." in made.warnings


def test_a_hot_spot_is_warned_of_where_no_least_match_is_set() -> None:
    wish = Wish(strategy="prefixaware")
    unset = planned(routed("--routing-logic", "roundrobin"), wish)
    assert any("all go to the engines that saw it first" in one for one in unset.warnings)
    least = planned(routed("--routing-logic", "roundrobin", "--prefix-min-match-length", "512"), wish)
    assert not any("saw it first" in one for one in least.warnings)


def test_a_router_that_is_paused_would_not_roll_out() -> None:
    def pause(found: Documents) -> None:
        pick(found, "Deployment", "gate")["spec"]["paused"] = True

    assert codes(refused(changed("deployment", pause), Wish(strategy="round_robin"))) == ["silent_no_op"]
