"""How far a rollout is: of Deployments, StatefulSets and DaemonSets; what heals by itself, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.changer import Progress, Verified
from controller.changes.kube.rollout import Patience, Rollout, objects_of
from tierdeck.deployed import ObjectRef

APPLIED, NOW = 1_796_000_000.0, 1_796_000_100.0  # 2026-11-30T00:53:20Z and 00:55:00Z
PATIENCE = Patience(unscheduled=60.0)


def workload(kind: str, **status: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": "chat", "namespace": "llm", "uid": "w", "generation": 2}
    meta["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    return {"metadata": meta, "spec": {"replicas": 2}, "status": {"observedGeneration": 2, **status}}


def owned(name: str, kind: str, owner: str, labels: dict[str, str], **more: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": "llm", "uid": name, "labels": labels}
    meta["ownerReferences"] = [{"kind": kind, "name": owner}]
    return {"metadata": meta, **more}


def replica_set(number: int) -> dict[str, Any]:
    made = owned(f"chat-{number}", "Deployment", "chat", {"pod-template-hash": f"{number}"})
    made["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": f"{number}"}
    return made


def pod(name: str, revision: int, *, ready: bool = True, **status: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}, *status.pop("conditions", [])]
    made = owned(name, "ReplicaSet", f"chat-{revision}", {"pod-template-hash": f"{revision}"})
    return {**made, "spec": {"nodeName": "n-1"}, "status": {"phase": "Running", "conditions": conditions, **status}}


def judged(raw: dict[str, Any], *pods: dict[str, Any], kind: str = "Deployment") -> Verified:
    objects = objects_of("east", pods, [replica_set(1), replica_set(2)], [])
    return Rollout.of((ObjectRef(kind, "llm", "chat"), raw), objects, (APPLIED, NOW)).judge(PATIENCE)


DONE = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}


def test_it_is_through_once_all_pods_are_of_the_newest_revision_and_available() -> None:
    assert judged(workload("Deployment", **DONE), pod("a", 2), pod("b", 2)).progress is Progress.DONE


@pytest.mark.parametrize(("status", "words"), [
    ({**DONE, "observedGeneration": 1}, "its controller has not seen the change yet"),
    ({**DONE, "updatedReplicas": 1}, "1 of 2 pods are of the newest revision"),
    ({**DONE, "replicas": 3}, "1 older pods are still there"),
    ({**DONE, "availableReplicas": 1}, "1 of 2 pods are available"),
])  # fmt: skip
def test_what_a_deployment_still_lacks_is_said(status: dict[str, int], words: str) -> None:
    found = judged(workload("Deployment", **status), pod("a", 2), pod("b", 2))
    assert (found.progress, found.words) == (Progress.WAITING, f"Deployment llm/chat rolls out: {words}")


@pytest.mark.parametrize(("updated", "current", "is_done"), [(2, "b", True), (2, "a", False), (1, "a", False)])
def test_a_stateful_set_is_through_when_its_current_revision_is_the_newest(
    updated: int, current: str, is_done: bool
) -> None:
    status = {**DONE, "updatedReplicas": updated, "currentRevision": current, "updateRevision": "b"}
    found = judged(workload("StatefulSet", **status), kind="StatefulSet")
    assert (found.progress is Progress.DONE) is is_done


@pytest.mark.parametrize(("updated", "available", "progress"), [
    (3, 3, Progress.DONE), (2, 3, Progress.WAITING), (3, 2, Progress.WAITING),
])  # fmt: skip
def test_a_daemon_set_counts_nodes(updated: int, available: int, progress: Progress) -> None:
    raw = workload("DaemonSet", desiredNumberScheduled=3, updatedNumberScheduled=updated, numberAvailable=available)
    assert judged(raw, kind="DaemonSet").progress is progress


def killed(at: str, reason: str = "OOMKilled") -> dict[str, Any]:
    return {"containerStatuses": [{"name": "vllm", "lastState": {"terminated": {"reason": reason, "finishedAt": at}}}]}


def test_a_kill_for_memory_counts_after_the_change_and_on_new_pods_only() -> None:
    raw = workload("Deployment", **DONE)
    after, before = killed("2026-11-30T00:54:00Z"), killed("2026-11-29T23:00:00Z")
    found = judged(raw, pod("a", 2, **after))
    assert (found.progress, found.words) == (
        Progress.FAILED, "container vllm of Pod llm/a on n-1 was killed for memory (OOMKilled)"
    )  # fmt: skip
    assert judged(raw, pod("a", 2, **before)).progress is Progress.DONE
    assert judged(raw, pod("a", 1, **after), pod("b", 2)).progress is Progress.DONE


def unscheduled(since: str) -> dict[str, Any]:
    words = {"reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}
    return {"conditions": [{"type": "PodScheduled", "status": "False", "lastTransitionTime": since, **words}]}


def test_a_pod_without_a_node_may_wait_for_an_older_one_to_end() -> None:
    raw = workload("Deployment", **{**DONE, "availableReplicas": 1})
    young = judged(raw, pod("a", 2, ready=False, **unscheduled("2026-11-30T00:54:30Z")))  # 30 s ago
    assert young.progress is Progress.WAITING
    assert young.words.startswith(
        "Pod llm/a finds no node: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia"
    )
    old = judged(raw, pod("a", 2, ready=False, **unscheduled("2026-11-30T00:53:50Z")))  # 70 s ago
    assert old.progress is Progress.FAILED


def test_an_image_that_does_not_come_is_said_and_waited_for() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}}
    raw = workload("Deployment", **{**DONE, "availableReplicas": 1})
    found = judged(raw, pod("a", 2, ready=False, containerStatuses=[{"name": "vllm", "state": waiting}]))
    assert (found.progress, found.words) == (
        Progress.WAITING, "container vllm of Pod llm/a on n-1 does not start: ImagePullBackOff: Back-off"
    )  # fmt: skip


def test_a_deadline_of_the_revision_before_is_not_this_ones() -> None:
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "x"}
    early = workload("Deployment", observedGeneration=1, conditions=[condition])
    early["status"]["observedGeneration"] = 1
    assert judged(early).progress is Progress.WAITING
    assert judged(workload("Deployment", conditions=[condition])).progress is Progress.FAILED


def test_a_new_pod_that_is_not_ready_is_waited_for_though_the_counts_fit() -> None:
    found = judged(workload("Deployment", **DONE), pod("a", 2), pod("b", 2, ready=False))
    assert (found.progress, found.words) == (Progress.WAITING, "Pod llm/b is not ready")


def test_a_pod_that_is_on_its_way_out_holds_nothing_up() -> None:
    gone = pod("a", 2, **killed("2026-11-30T00:54:00Z"))
    gone["metadata"]["deletionTimestamp"] = "2026-11-30T00:54:30Z"
    found = judged(workload("Deployment", **DONE), gone, pod("b", 2), pod("c", 2))
    assert found.progress is Progress.DONE
