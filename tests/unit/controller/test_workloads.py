"""Workloads and pods: how far a rollout is, why it does not go on, how containers fare."""

from __future__ import annotations

from typing import Any

import pytest

from controller.objects import Objects
from controller.reading.lineage import Lineage, parse_selector, selects
from controller.reading.pods import read_pod
from controller.reading.processes import Spec
from controller.reading.scene import Scene
from controller.reading.workloads import read_workload
from controller.resources import DEPLOYMENTS, REPLICA_SETS
from tests.support.manifests import example, objects_of
from tierdeck.deployed import ObjectRef, Workload

DONE = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}


def workload(kind: str, status: dict[str, Any], **spec: Any) -> Workload:
    raw = {"metadata": {"uid": "u", "generation": 2}, "spec": {"replicas": 2, **spec}, "status": status}
    return read_workload((ObjectRef(kind, "ns", "w"), raw), Spec({}), Lineage(Objects("prod", {})))


@pytest.mark.parametrize(
    ("status", "is_rolling"),
    [
        (DONE, False),
        ({**DONE, "readyReplicas": 1, "availableReplicas": 1}, False),  # a crash is no rollout
        ({**DONE, "observedGeneration": 1}, True),
        ({**DONE, "replicas": 3}, True),  # one of the old revision
        ({**DONE, "updatedReplicas": 1}, True),
        ({**DONE, "replicas": 1, "updatedReplicas": 1}, True),  # one is missing
        ({**DONE, "conditions": [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]}, True),
        (
            {**DONE, "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]},
            False,
        ),
    ],
)
def test_a_deployment_rolls_until_only_the_new_revision_is_there(status: dict[str, Any], is_rolling: bool) -> None:
    assert workload("Deployment", status).is_rolling is is_rolling


@pytest.mark.parametrize(
    ("condition", "trouble"),
    [
        ({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"},
         "ProgressDeadlineExceeded: timed out"),
        ({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: gpus"},
         "FailedCreate: exceeded quota: gpus"),
        ({"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"}, ""),
    ],
)  # fmt: skip
def test_what_keeps_a_rollout_is_told_in_the_api_s_words(condition: dict[str, str], trouble: str) -> None:
    assert workload("Deployment", {**DONE, "conditions": [condition]}).trouble == trouble


def test_a_stateful_set_rolls_while_its_revisions_differ() -> None:
    same = {"replicas": 2, "currentRevision": "a", "updateRevision": "a"}
    assert not workload("StatefulSet", same).is_rolling
    assert workload("StatefulSet", {**same, "updateRevision": "b"}).is_rolling


def test_a_daemon_set_wants_a_pod_per_node() -> None:
    status = {"desiredNumberScheduled": 3, "currentNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 2}
    found = workload("DaemonSet", status)
    assert (found.wanted, found.ready, found.is_rolling) == (3, 2, False)
    assert workload("DaemonSet", {**status, "updatedNumberScheduled": 1}).is_rolling


def test_revisions_come_oldest_first_and_a_pod_knows_its_own() -> None:
    scene = Scene(example("hyperpod"))
    deployment = scene.lineage.get(DEPLOYMENTS, "inference", "chat")[0]
    found = read_workload(deployment, scene.template(deployment), scene.lineage)
    assert [(one.number, one.identity) for one in found.revisions] == [(1, "rs-1"), (2, "rs-2")]
    pods = scene.lineage.pods(deployment)
    assert [pod[0].name for pod in pods] == ["chat-5f6d-aaaaa", "chat-5f6d-bbbbb"]
    run = read_pod(pods[0], scene.pod(pods[0]), deployment[0], scene.lineage.revisions(deployment))
    assert run.revision == "rs-2"
    chat = run.containers[0]
    # 2026-11-21T08:00:00Z and 30 s before
    assert (chat.last_reason, chat.last_exit_code, chat.restarts) == ("OOMKilled", 137, 1)
    assert (chat.started_at, chat.last_finished_at) == (1795248000.0, 1795247970.0)


def test_a_deployment_that_was_made_anew_does_not_inherit_pods() -> None:
    objects = example("hyperpod")
    lineage = Lineage(objects)
    namesake = (ObjectRef("Deployment", "inference", "chat"), {"metadata": {"uid": "another"}})
    assert lineage.pods(namesake) == []


def test_pods_are_found_by_name_and_labels_where_replica_sets_can_not_be_seen() -> None:
    objects = example("hyperpod")
    kinds = {kind: found for kind, found in objects.kinds.items() if kind is not REPLICA_SETS}
    scene = Scene(Objects("prod", kinds, {REPLICA_SETS: "forbidden"}))
    deployment = scene.lineage.get(DEPLOYMENTS, "inference", "chat")[0]
    assert len(scene.lineage.pods(deployment)) == 2


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory"),
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
          "message": "0/3 nodes"}]}, "Unschedulable: 0/3 nodes"),
        ({"phase": "Running", "containerStatuses": [{"name": "c", "state": {"waiting": {
            "reason": "CrashLoopBackOff", "message": "back-off"}}}]}, "CrashLoopBackOff: back-off"),
        ({"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting": {
            "reason": "ContainerCreating"}}}]}, ""),
        ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, ""),
    ],
)  # fmt: skip
def test_a_pod_tells_why_it_is_not_ready(status: dict[str, Any], trouble: str) -> None:
    pod = {"kind": "Pod", "metadata": {"namespace": "ns", "name": "p"}, "spec": {"containers": [{"name": "c"}]},
           "status": status}  # fmt: skip
    scene = Scene(objects_of([pod]))
    ref = ObjectRef("Pod", "ns", "p")
    run = read_pod((ref, pod), scene.pod((ref, pod)), None)
    assert run.trouble == trouble
    assert run.containers[0].waiting == ("CrashLoopBackOff" if "Crash" in trouble else "")


@pytest.mark.parametrize(
    ("selector", "fits"),
    [("app=chat", True), ("app==chat,tier=gpu", True), ("app in (chat, code),tier", True), ("app!=chat", False),
     ("tier=cpu", False), ("", False), (",,", False), ("app in (code)", False)],
)  # fmt: skip
def test_a_selector_is_read_as_commands_write_it(selector: str, fits: bool) -> None:
    assert selects(parse_selector(selector), {"app": "chat", "tier": "gpu"}) is fits
