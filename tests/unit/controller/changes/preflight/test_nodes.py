"""Room on nodes: for all pods in the end, and for the pod more that a rollout begins with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.changes.preflight import preflight
from controller.resources import NODES, PODS
from tests.support.preflight import codes, edit, engine, l1_of, look, memory_to, node, plan, pod, pods_of
from tierdeck.changes.plan import Plan, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
ROUTE = Wish(strategy="roundrobin")


def test_pods_that_fit_once_their_predecessors_are_gone_pass() -> None:
    # each node: 128 - 20 of others = 108 GiB beside the pod that is there; 104 fit
    made = engine(memory="64Gi")
    around = [node("n1"), node("n2"), pod("a", "n1", memory="20Gi"), pod("b", "n2", memory="20Gi")]
    at = look(made, *pods_of(made, "n1", "n2"), *around)
    assert codes(preflight(at, plan(*memory_to("104Gi")), l1_of(80))) == []


def test_the_refusal_names_the_best_node_and_the_bytes_that_are_missing() -> None:
    # n1: 128 - 40 = 88, n2: 128 - 30 = 98; 104 are asked for, on n2 6 GiB = 6,442,450,944 bytes are missing
    made = engine(memory="64Gi", replicas=1)
    around = [node("n1"), node("n2"), pod("a", "n1", memory="40Gi"), pod("b", "n2", memory="30Gi")]
    found = preflight(look(made, *pods_of(made, "n1"), *around), plan(*memory_to("104Gi")), l1_of(80))
    assert codes(found)[0] == "memory"
    assert found.refusals[0].reason == (
        "Deployment llm/chat will ask for 104 GiB of memory in each pod, and nodes have room for none of its 1 pod: "
        "the best, n2, has 98 GiB left beside the pods of others, 6 GiB (6,442,450,944 bytes) are missing."
    )


def test_where_only_some_of_the_pods_fit_the_next_best_node_is_named() -> None:
    # n1 takes one of 104 and has 24 left; n2: 128 - 30 = 98, so that it lacks 6
    made = engine(memory="64Gi")
    at = look(made, *pods_of(made, "n1", "n2"), node("n1", gpus=2), node("n2"), pod("b", "n2", memory="30Gi"))
    found = preflight(at, plan(*memory_to("104Gi")), l1_of(80))
    assert codes(found) == ["memory"]
    assert "room for 1 of its 2 pods: the best, n2, has 98 GiB left" in found.refusals[0].reason
    assert "6 GiB (6,442,450,944 bytes)" in found.refusals[0].reason


def test_hyperpods_toolkit_counts_by_its_limit() -> None:
    # 128 - 25 (the daemon's limit, though it asks for 1) = 103; 104 are asked for
    made = engine(memory="64Gi", replicas=1)
    daemon = pod("t", "n1", labels={"app": "ai-toolkit"}, requests={"memory": "1Gi"}, limits={"memory": "25Gi"})
    found = preflight(look(made, *pods_of(made, "n1"), node("n1"), daemon), plan(*memory_to("104Gi")), l1_of(80))
    assert "has 103 GiB left" in found.refusals[0].reason


def test_hyperpods_toolkit_that_states_nothing_is_a_warning() -> None:
    made = engine(replicas=1)
    daemon = pod("t", "n1", labels={"app": "ai-toolkit"})
    found = preflight(look(made, *pods_of(made, "n1"), node("n1"), daemon), plan(*memory_to("65Gi")), l1_of(41))
    assert [one for one in found.warnings if "ai-toolkit" in one and "Pod others/t" in one]


def test_a_rollout_that_starts_a_pod_more_needs_a_free_gpu() -> None:
    made = engine(strategy=SURGE)
    found = preflight(look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2")), plan(), ROUTE)
    assert codes(found) == ["gpus"]
    assert found.refusals[0].reason == (
        "Deployment llm/chat starts a pod more before it stops one (maxSurge 1, maxUnavailable 0), and no node has "
        "room for 1 nvidia.com/gpu: the best, n1, has 0 free."
    )
    assert "maxSurge 0 and maxUnavailable 1" in found.refusals[0].fix


def test_a_free_gpu_lets_it_go_on() -> None:
    made = engine(strategy=SURGE)
    at = look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2"), node("n3"))
    assert codes(preflight(at, plan(), ROUTE)) == []


@pytest.mark.parametrize(
    "node_more",
    [
        {"spec": {"unschedulable": True}},
        {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
        {"ready": False},
        {"labels": {"sagemaker.amazonaws.com/node-health-status": "UnschedulablePendingReboot"}},
    ],
)
def test_a_node_that_takes_no_pods_has_no_room(node_more: dict[str, Any]) -> None:
    made = engine(strategy=SURGE)
    at = look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2"), node("n3", **node_more))
    assert codes(preflight(at, plan(), ROUTE)) == ["gpus"]


@pytest.mark.parametrize(
    "template",
    [
        {"nodeSelector": {"pool": "a"}},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a", "c"]}]}
                        ]
                    }
                }
            }
        },
    ],
)
def test_a_node_that_the_pods_don_t_select_has_no_room(template: dict[str, object]) -> None:
    made = engine(strategy=SURGE, replicas=1, template=template)
    ours, other = node("n1", labels={"pool": "a"}), node("n2", labels={"pool": "b"})
    at = look(made, *pods_of(made, "n1"), ours, other)
    assert codes(preflight(at, plan(), ROUTE)) == ["gpus"]


def test_a_taint_that_is_tolerated_keeps_nothing_away() -> None:
    made = engine(strategy=SURGE, replicas=1, template={"tolerations": [{"key": "gpu", "operator": "Exists"}]})
    spec = {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}
    at = look(made, *pods_of(made, "n1"), node("n1"), node("n2", spec=spec))
    assert codes(preflight(at, plan(), ROUTE)) == []


def test_a_pod_more_that_lacks_only_memory_that_grew_is_refused_for_memory() -> None:
    # n1: 128 - 64 = 64 free, a GPU too; 60 would fit no more beside it once it is 70
    made = engine(memory="64Gi", replicas=1, strategy=SURGE)
    found = preflight(look(made, *pods_of(made, "n1"), node("n1", gpus=2)), plan(*memory_to("70Gi")), l1_of(46))
    assert codes(found) == ["memory"]
    assert "n1, has 64 GiB left, 6 GiB (6,442,450,944 bytes) are missing" in found.refusals[0].reason


def test_a_pod_more_that_lacks_memory_as_it_is_has_a_code_of_its_own() -> None:
    made = engine(memory="100Gi", replicas=1, strategy=SURGE)
    found = preflight(look(made, *pods_of(made, "n1"), node("n1", gpus=2)), plan(), ROUTE)
    assert codes(found) == ["surge"]


def test_the_strategy_that_the_plan_writes_is_the_one_that_counts() -> None:
    made = engine(strategy=SURGE)
    at = look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2"))
    way = ("spec", "strategy", "rollingUpdate")
    found = preflight(at, plan(edit((*way, "maxSurge"), 0), edit((*way, "maxUnavailable"), 1)), ROUTE)
    assert codes(found) == []


@pytest.mark.parametrize("kind", [NODES, PODS])
def test_what_can_t_be_seen_is_a_warning(kind: object) -> None:
    at = look(engine(), node("n1"), blind={kind: "the API server forbids it"})  # type: ignore[dict-item]
    found = preflight(at, plan(*memory_to("500Gi")), l1_of(400))
    assert "memory" not in codes(found)
    assert any("Whether a node has room is not checked: the API server forbids it." in one for one in found.warnings)


def test_pods_of_namespaces_that_are_not_looked_into_are_said_not_to_be_counted() -> None:
    made = engine()
    at = look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2"))
    partly = replace(at, objects=replace(at.objects, spaces=("llm",)))
    found = preflight(partly, plan(), ROUTE)
    assert [one for one in found.warnings if "pods outside of the namespaces llm are not seen" in one]


def daemon(l1_gib: int) -> dict[str, Any]:
    """LMCache's server on every node, with 8 GiB beside L1."""
    memory = {"memory": f"{l1_gib + 8}Gi"}
    server = {
        "name": "cache",
        "image": "lmcache/standalone:v0.5.6",
        "command": ["lmcache"],
        "args": ["server", "--l1-size-gb", str(l1_gib)],
        "resources": {"limits": memory, "requests": memory},
    }
    return {
        "kind": "DaemonSet",
        "metadata": {"name": "lmcache", "namespace": "llm", "uid": "ds-1"},
        "spec": {"template": {"metadata": {"labels": {"app": "lmcache"}}, "spec": {"containers": [server]}}},
        "status": {"desiredNumberScheduled": 2, "currentNumberScheduled": 2, "updatedNumberScheduled": 2,
                   "numberReady": 2},
    }  # fmt: skip


def test_each_node_has_to_hold_its_own_pod_of_a_daemon_set() -> None:
    # 28 GiB become 68; n1 has plenty, n2: 128 - 70 = 58: 10 GiB = 10,737,418,240 bytes are missing there
    made, server = engine(), daemon(20)
    own = [{"kind": "Pod", "metadata": {"name": f"lmcache-{on}", "namespace": "llm",
                                        "ownerReferences": [{"kind": "DaemonSet", "name": "lmcache", "uid": "ds-1"}]},
            "spec": {**server["spec"]["template"]["spec"], "nodeName": on}, "status": {"phase": "Running"}}
           for on in ("n1", "n2")]  # fmt: skip
    around = [node("n1", memory="512Gi"), node("n2"), pod("a", "n2", memory="70Gi")]
    ref = ObjectRef("DaemonSet", "llm", "lmcache")
    above = ("spec", "template", "spec", "containers", "[name=cache]", "resources")
    edits = tuple(edit((*above, side, "memory"), "68Gi") for side in ("limits", "requests"))
    what = Plan((Write(ref, "/x", "apps/v1", edits),), restarts=(ref,))
    found = preflight(look(made, server, *own, *around), what, l1_of(60))
    assert codes(found) == ["memory"]
    assert "room for 1 of its 2 pods: the best, n2, has 58 GiB left" in found.refusals[0].reason
    assert "(10,737,418,240 bytes)" in found.refusals[0].reason
