"""What serves while replicas restart, and how the old ones end."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.planner import Load
from controller.changes.preflight import preflight
from tests.support.preflight import Shelf, codes, engine, look, plan
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import ObjectRef

BUDGETS = "/apis/policy/v1/namespaces/llm/poddisruptionbudgets"
ROUTE = Wish(strategy="session")
ROUTER = ObjectRef("Deployment", "llm", "gate")


def busy(running: float | None, waiting: float | None = 0) -> Load:
    return Load(running=running, waiting=waiting, request_seconds=1)


def test_replicas_that_remain_and_can_t_carry_the_load_are_refused() -> None:
    # 1 of 2 remains, with 16 at a time; 12 + 8 = 20
    at = look(engine(args=["--max-num-seqs", "16"]), load=busy(12, 8))
    found = preflight(at, plan(), ROUTE)
    assert codes(found) == ["availability"]
    assert found.refusals[0].reason == (
        "1 replica of Deployment llm/chat remains while others restart (maxSurge 0, maxUnavailable 1) and can work on "
        "16 requests, 16 each (--max-num-seqs); 20 run or wait now."
    )


def test_replicas_that_remain_and_carry_the_load_pass() -> None:
    assert codes(preflight(look(engine(args=["--max-num-seqs", "16"]), load=busy(12, 4)), plan(), ROUTE)) == []


def test_without_a_stated_number_the_largest_default_refuses_and_the_usual_one_warns() -> None:
    # one remains: 1,024 at most, 256 usually
    assert codes(preflight(look(engine(), load=busy(1025)), plan(), ROUTE)) == ["availability"]
    found = preflight(look(engine(), load=busy(257)), plan(), ROUTE)
    assert codes(found) == []
    assert [one for one in found.warnings if "--max-num-seqs is not set" in one]
    assert not [one for one in preflight(look(engine(), load=busy(256)), plan(), ROUTE).warnings if "num-seqs" in one]


def test_a_single_replica_that_serves_is_not_taken_away() -> None:
    found = preflight(look(engine(replicas=1), load=busy(3)), plan(), ROUTE)
    assert codes(found) == ["availability"]
    assert "Nothing serves from when Deployment llm/chat stops its pods" in found.refusals[0].reason
    assert "3 requests run or wait now" in found.refusals[0].reason


@pytest.mark.parametrize("load", [busy(0), busy(None)])
def test_a_single_replica_that_is_idle_or_of_unknown_load_is_a_warning(load: Load) -> None:
    found = preflight(look(engine(replicas=1), load=load), plan(), ROUTE)
    assert codes(found) == []
    assert [one for one in found.warnings if one.startswith("Nothing serves from when Deployment llm/chat")]


def test_a_single_replica_whose_successor_comes_first_serves_on() -> None:
    made = engine(replicas=1, gpus=0, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    assert codes(preflight(look(made, load=busy(3)), plan(), ROUTE)) == []


def test_a_load_that_is_not_known_is_said() -> None:
    found = preflight(look(engine(), load=busy(None)), plan(), ROUTE)
    assert [one for one in found.warnings if "how many requests run and wait is not known" in one]


def test_all_replicas_at_once_leave_nothing() -> None:
    found = preflight(look(engine(replicas=4, strategy={"type": "Recreate"}), load=busy(1)), plan(), ROUTE)
    assert codes(found) == ["availability"]
    assert "(4 replicas, strategy Recreate)" in found.refusals[0].reason


def router(**spec: Any) -> dict[str, Any]:
    container = {"name": "router", "image": "lmcache/lmstack-router:v0.1.7", "args": ["--routing-logic", "roundrobin"]}
    return {
        "kind": "Deployment",
        "metadata": {"name": "gate", "namespace": "llm", "uid": "d-2", "generation": 1},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "gate"}},
                                             "spec": {"containers": [container]}}, **spec},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1},
    }  # fmt: skip


def test_a_strategy_that_restarts_only_the_router_is_judged_by_the_router_alone() -> None:
    # the engines could not carry it, and are not touched; 25 % of 1 is 1 more pod and 0 fewer
    made = engine(args=["--max-num-seqs", "1"])
    found = preflight(look(made, router(), load=busy(50)), plan(restarts=[ROUTER]), ROUTE)
    assert codes(found) == []
    assert not [one for one in found.warnings if "llm/chat" in one]


def test_a_router_that_is_gone_meanwhile_is_refused_under_load() -> None:
    found = preflight(
        look(engine(), router(strategy={"type": "Recreate"}), load=busy(5)), plan(restarts=[ROUTER]), ROUTE
    )
    assert codes(found) == ["availability"]
    assert "Nothing routes from when Deployment llm/gate" in found.refusals[0].reason


def test_a_plan_that_restarts_nothing_is_refused_for_nothing() -> None:
    assert preflight(look(engine(), load=busy(5000)), plan(restarts=[]), ROUTE).refusals == ()


def test_a_workload_that_is_not_there_is_said() -> None:
    found = preflight(look(engine()), plan(restarts=[ROUTER]), ROUTE)
    assert found.warnings == ("What a restart of Deployment llm/gate needs is not checked: it is not there.",)


def test_a_budget_that_allows_no_disruption_is_said_and_refuses_nothing() -> None:
    def budget(label: str, allowed: int) -> dict[str, Any]:
        selector = {"matchLabels": {"app": label}}
        return {"metadata": {"name": f"{label}-{allowed}"}, "spec": {"selector": selector},
                "status": {"disruptionsAllowed": allowed}}  # fmt: skip

    reader = Shelf({BUDGETS: [budget("chat", 0), budget("chat", 1), budget("other", 0)]})
    found = preflight(look(engine(), reader=reader), plan(), ROUTE)
    assert codes(found) == []
    assert [one.split(" allows")[0] for one in found.warnings if "Budget" in one] == ["PodDisruptionBudget llm/chat-0"]


def test_budgets_that_may_not_be_read_are_said() -> None:
    found = preflight(look(engine(), reader=Shelf(forbidden=[BUDGETS])), plan(), ROUTE)
    assert [one for one in found.warnings if "PodDisruptionBudget of llm" in one and "not checked" in one]


@pytest.mark.parametrize(
    ("grace", "seconds", "words"),
    [
        (None, 84.0, "is 30, the default, and the slowest take 84 s"),
        (60, 84.0, "is 60, and the slowest take 84 s"),
        (None, None, "Answers that take longer than 30 s are cut"),
        (120, 84.0, ""),
        (120, None, ""),
    ],
)
def test_answers_that_take_longer_than_a_pod_gets_are_warned_of(
    grace: int | None, seconds: float | None, words: str
) -> None:
    made = engine(template={} if grace is None else {"terminationGracePeriodSeconds": grace})
    found = preflight(look(made, load=Load(running=0, waiting=0, request_seconds=seconds)), plan(), ROUTE)
    cut = [one for one in found.warnings if "are cut" in one]
    assert len(cut) == bool(words)
    assert all(words in one for one in cut)


def test_pods_that_change_only_by_hand_are_said() -> None:
    made = {**engine(), "kind": "StatefulSet"}
    made["spec"] = {**made["spec"], "updateStrategy": {"type": "OnDelete"}}
    at = look(made, load=busy(1))
    found = preflight(at, plan(restarts=[ObjectRef("StatefulSet", "llm", "chat")]), Wish(l0=L0Wish(share=0.9)))
    assert codes(found) == []
    assert [one for one in found.warnings if "only once its pods are deleted by hand" in one]
