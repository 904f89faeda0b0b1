"""What moves already, who sets the replicas, and claims that can't be resized."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.changes.preflight import CHECKS, preflight
from controller.resources import NODES
from tests.support.preflight import Manifest, Shelf, codes, edit, engine, look, node, plan, pods_of
from tierdeck.changes.plan import Plan, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

ROUTE = Wish(strategy="session")
CLAIM = ObjectRef("PersistentVolumeClaim", "llm", "l2")
SIZE = ("spec", "resources", "requests", "storage")


def rolling(**status: Any) -> Manifest:
    made = engine()
    made["status"] = {**made["status"], "updatedReplicas": 1, "readyReplicas": 1, **status}
    return made


def test_a_rollout_that_goes_on_is_waited_for() -> None:
    found = preflight(look(rolling()), plan(), ROUTE)
    assert codes(found) == ["scaling"]
    assert "Deployment llm/chat is rolling out or scaling already: 1 of 2 pods are ready" in found.refusals[0].reason


def test_a_rollout_that_is_stuck_may_be_cured_by_the_change() -> None:
    stuck = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}
    found = preflight(look(rolling(conditions=[stuck])), plan(), ROUTE)
    assert codes(found) == []
    assert [one for one in found.warnings if "does not go on, with 1 of 2 ready: ProgressDeadlineExceeded" in one]


def scaler(now: int, then: int) -> Manifest:
    aim = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"}
    return {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "hpa", "namespace": "llm"},
            "spec": {"scaleTargetRef": aim}, "status": {"currentReplicas": now, "desiredReplicas": then}}  # fmt: skip


def test_a_scaling_that_goes_on_is_waited_for() -> None:
    found = preflight(look(engine(), scaler(2, 3)), plan(), ROUTE)
    assert codes(found) == ["scaling"]
    assert "scales Deployment llm/chat from 2 to 3 replicas now" in found.refusals[0].reason
    assert codes(preflight(look(engine(), scaler(2, 2)), plan(), ROUTE)) == []


def test_a_scaler_that_has_no_metrics_scales_nothing() -> None:
    idle = scaler(2, 3)
    idle["status"]["conditions"] = [{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}]
    for one in (idle, scaler(2, 0)):
        assert codes(preflight(look(engine(), one), plan(), ROUTE)) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ready": False}, "is not ready"),
        ({"spec": {"unschedulable": True}}, "is cordoned or being drained"),
        ({"labels": {"sagemaker.amazonaws.com/node-health-status": "UnschedulablePendingReplacement"}}, "replacement"),
        ({"labels": {"sagemaker.amazonaws.com/node-health-status": "Unschedulable"}}, "is being checked"),
    ],
)
def test_a_node_of_its_pods_that_is_being_repaired_is_waited_for(more: dict[str, Any], words: str) -> None:
    made = engine()
    found = preflight(look(made, *pods_of(made, "n1", "n2"), node("n1"), node("n2", **more)), plan(), ROUTE)
    assert codes(found) == ["node_repair"]
    assert found.refusals[0].reason.startswith("Node n2, on which pods of Deployment llm/chat run,")
    assert words in found.refusals[0].reason


def test_a_node_that_is_gone_is_waited_for_and_another_s_repair_is_not() -> None:
    made = engine(replicas=1)
    gone = preflight(look(made, *pods_of(made, "n1"), node("n2")), plan(), ROUTE)
    assert "node_repair" in codes(gone)
    other = preflight(look(made, *pods_of(made, "n1"), node("n1"), node("n2", ready=False)), plan(), ROUTE)
    assert "node_repair" not in codes(other)


def test_nodes_that_can_t_be_seen_are_said() -> None:
    made = engine()
    found = preflight(look(made, *pods_of(made, "n1"), blind={NODES: "the API server forbids it"}), plan(), ROUTE)
    assert [one for one in found.warnings if "is being repaired is not checked: the API server forbids it" in one]


def test_replicas_that_an_autoscaler_sets_are_said_when_they_are_written() -> None:
    at = look(engine(), scaler(2, 2))
    found = preflight(at, plan(edit(("spec", "replicas"), 3)), ROUTE)
    assert [one for one in found.warnings if "an autoscaler sets its replicas (hpa hpa)" in one]
    assert not [one for one in preflight(at, plan(), ROUTE).warnings if "autoscaler" in one]


def claim(provisioner: str, *, grows: bool = True) -> list[Manifest]:
    return [
        {"kind": "StorageClass", "metadata": {"name": "sc"}, "provisioner": provisioner, "allowVolumeExpansion": grows},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "l2", "namespace": "llm"},
         "spec": {"storageClassName": "sc", "resources": {"requests": {"storage": "100Gi"}}}},
    ]  # fmt: skip


def resize(size: str) -> Plan:
    return Plan((Write(CLAIM, "/x", "v1", (edit(SIZE, size, "100Gi"),)),))


@pytest.mark.parametrize(
    ("provisioner", "grows", "size", "words"),
    [
        ("curvine", True, "200Gi", "Curvine holds no claim to its size"),
        ("ebs.csi.aws.com", True, "50Gi", "asks for 100 GiB and the API server lets no claim shrink"),
        ("ebs.csi.aws.com", False, "200Gi", "StorageClass sc does not allow volumes to grow"),
        ("ebs.csi.aws.com", True, "200Gi", ""),
    ],
)
def test_the_size_of_a_claim_is_refused_with_the_reason(provisioner: str, grows: bool, size: str, words: str) -> None:
    found = preflight(look(engine(), *claim(provisioner, grows=grows)), resize(size), Wish(l2_bytes=1))
    assert codes(found) == (["not_possible"] if words else [])
    assert all(words in one.reason for one in found.refusals)


def test_the_template_of_claims_is_refused() -> None:
    write = Write(ObjectRef("StatefulSet", "c", "w"), "/x", "apps/v1", (edit(("spec", "volumeClaimTemplates"), []),))
    assert codes(preflight(look(engine()), Plan((write,)), Wish(l2_bytes=1))) == ["not_possible"]


def test_every_check_has_its_own_name() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_sentences_end_and_are_said_once() -> None:
    made = engine(replicas=1, memory=None)
    at = look(made, *pods_of(made, "n1"), node("n1", ready=False), reader=Shelf())
    twice = plan(restarts=[ObjectRef("Deployment", "llm", "chat")] * 2)
    found = preflight(replace(at), twice, Wish(l1_bytes=1))
    said = [*found.warnings, *(one.reason for one in found.refusals), *(one.fix for one in found.refusals)]
    assert len(set(said)) == len(said)
    assert all(one.endswith(".") for one in said)
