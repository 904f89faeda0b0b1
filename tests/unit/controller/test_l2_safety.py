"""Where L2 can't hurt: the claim, the nodes that a pod may go to, and their mounts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.injector.places import nodes_for
from controller.injector.safety import MountBook, danger
from controller.resources import CLAIMS, NODES
from tests.support.manifests import objects_of
from tierdeck.fleet import POOL, ReplicaKey
from tierdeck.l2.members import KnownMember, MemberKind, MountFacts, PoolMember
from tierdeck.l2.policy import L2Policy

NOW = 1_700_000_000.0
MASTERS = "curvine-master-0.curvine-master.curvine.svc:8995"
POLICY = L2Policy("a test", "curvine-pvc")
BUSY = MountFacts(waiting=0, active=2, progress_at=NOW - 6, is_attached=True)


def book_of(facts: MountFacts) -> MountBook:
    member = PoolMember(MemberKind.MOUNT, "a", "", mount=facts)
    return MountBook({"a": KnownMember(ReplicaKey("east", POOL, "curvine/curvine"), member, NOW - 5, NOW - 5)}, NOW, "")


BOOK = book_of(BUSY)
SPEC: dict[str, Any] = {"containers": [{"name": "engine", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}


def node(name: str, gpus: str = "8", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": "a", "rank": "3"}}
    return {"kind": "Node", "metadata": metadata, "spec": spec, "status": {"allocatable": {"nvidia.com/gpu": gpus}}}


def pod(name: str, at: str, app: str, *command: str, ready: str = "True", **env: str) -> dict[str, Any]:
    variables = [{"name": key, "value": value} for key, value in env.items()]
    container = {"name": command[0], "image": "curvine-csi:v0.4.1", "command": list(command), "env": variables}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "curvine", "labels": {"app": app}},
        "spec": {"nodeName": at, "containers": [container]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]},
    }


def fuse(suffix: str, at: str, masters: str = MASTERS, ready: str = "True") -> dict[str, Any]:
    name = f"curvine-csi-standalone-{suffix}"
    return pod(name, at, "curvine-standalone", "curvine-fuse", "--master-addrs", masters, ready=ready)


CLASS = {
    "kind": "StorageClass",
    "metadata": {"name": "curvine-sc"},
    "provisioner": "curvine",
    "parameters": {"master-addrs": MASTERS},
}
CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "curvine-pvc", "namespace": "llm"},
    "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "curvine-sc"},
    "status": {"phase": "Bound"},
}
DRIVER = pod("csi-1", "one", "curvine-csi-node", "csi-plugin")
HEALTHY = [CLASS, CLAIM, node("one"), DRIVER, fuse("a", "one")]


def told(found: list[dict[str, Any]], book: MountBook = BOOK, spec: dict[str, Any] = SPEC) -> str:
    return danger(objects_of(found), book, "llm", spec, POLICY, NOW)


def test_a_bound_claim_and_a_mount_that_works_are_safe() -> None:
    assert told(HEALTHY) == ""


def test_a_node_without_a_mount_yet_gets_its_first_one() -> None:
    assert told([CLASS, CLAIM, node("one"), DRIVER]) == ""


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("status", "phase"), "Pending", "claim llm/curvine-pvc is Pending, not Bound"),
        (("status", "phase"), "Lost", "is Lost, not Bound"),
        (("spec", "accessModes"), ["ReadWriteOnce"], "is not ReadWriteMany"),
        (("spec", "storageClassName"), "gp3", "is not Curvine's (its provisioner is not told)"),
        (("metadata", "deletionTimestamp"), "2026-11-30T00:00:00Z", "is being deleted"),
        (("metadata", "name"), "another", "there is no claim llm/curvine-pvc"),
    ],
)
def test_a_claim_that_can_not_be_mounted_is_refused(path: tuple[str, str], value: object, words: str) -> None:
    claim = copy.deepcopy(CLAIM)
    claim[path[0]][path[1]] = value  # type: ignore[index]
    assert words in told([CLASS, claim, node("one"), DRIVER, fuse("a", "one")])


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([], "it may go to node one: no node plugin of Curvine's CSI driver runs there"),
        ([pod("csi-1", "one", "curvine-csi-node", "csi-plugin", ready="False")], "CSI node plugin csi-1 is not ready"),
        (
            [pod("csi-1", "one", "curvine-csi-node", "csi-plugin", MOUNT_MODE="embedded")],
            "FUSE runs inside the CSI node plugin csi-1",
        ),
        ([DRIVER, fuse("a", "one", ready="False")], "its FUSE client curvine-csi-standalone-a is not ready"),
        ([DRIVER, fuse("unseen", "one")], "no round of the collectors has told of its mount yet"),
        ([DRIVER, fuse("a", "one"), fuse("b", "one")], "no round of the collectors has told of its mount yet"),
    ],
)
def test_a_node_that_is_not_known_to_work_is_named(others: list[dict[str, Any]], words: str) -> None:
    assert words in told([CLASS, CLAIM, node("one"), *others])


def test_another_pools_mount_does_not_matter() -> None:
    assert told([*HEALTHY, fuse("b", "one", "other-master.other.svc:8995")]) == ""


def test_a_hang_is_told_with_its_node() -> None:
    # 305 - 5: at its page
    facts = MountFacts(waiting=7, waiting_since=NOW - 305, active=2, progress_at=NOW - 305, is_attached=True)
    words = told(HEALTHY, book_of(facts))
    assert words.startswith("it may go to node one: its mount is hung: 7 replies wait")
    assert "5 min" in words


def test_a_store_that_does_not_answer_makes_mounts_unknown() -> None:
    book = MountBook(BOOK.mounts, NOW - 46, "the store does not answer")
    assert "the store can't be read (the store does not answer), so no mount is known to work" in told(HEALTHY, book)


def test_what_can_not_be_seen_is_not_safe() -> None:
    for resource, words in ((CLAIMS, "claims can't be seen (no)"), (NODES, "nodes and Curvine's pods can't be seen")):
        found = danger(objects_of(HEALTHY, {resource: "no"}), BOOK, "llm", SPEC, POLICY, NOW)
        assert words in found
    assert "no node that it may go to is known" in told([CLASS, CLAIM])


def test_a_mount_that_hangs_on_a_cordoned_node_counts_for_who_tolerates_that() -> None:
    cordoned = [node("two", unschedulable=True), pod("csi-2", "two", "curvine-csi-node", "csi-plugin")]
    found = [*HEALTHY, *cordoned, fuse("unseen", "two")]
    assert told(found) == ""
    assert "it may go to node two" in told(found, spec={**SPEC, "tolerations": [{"operator": "Exists"}]})


def test_many_nodes_are_named_by_the_first() -> None:
    found = told([CLASS, CLAIM, *(node(f"n{at}") for at in range(5))])
    assert found.count("node n") == 3
    assert found.endswith("and 2 more nodes")


CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("given", "spec", "goes"),
    [
        (node("one"), {}, True),
        (node("one", unschedulable=True), {}, False),
        (node("one", unschedulable=True), {"nodeName": "one"}, True),
        (node("one", unschedulable=True), {"tolerations": [{"operator": "Exists"}]}, True),
        (node("one", unschedulable=True), {"tolerations": [CORDON]}, True),
        (node("one", unschedulable=True), {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, False),
        (node("one"), {"nodeName": "two"}, False),
        (node("one"), {"nodeSelector": {"zone": "a"}}, True),
        (node("one"), {"nodeSelector": {"zone": "b"}}, False),
        (node("one", "0"), SPEC, False),
        (node("one"), SPEC, True),
        (node("one", taints=[TAINT]), {}, False),
        (node("one", taints=[TAINT]), {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, True),
        (node("one", taints=[TAINT]), {"tolerations": [{"operator": "Exists"}]}, True),
        (node("one", taints=[TAINT]), {"tolerations": [{"key": "gpu", "value": "yes"}]}, True),
        (node("one", taints=[TAINT]), {"tolerations": [{"key": "gpu", "value": "no"}]}, False),
        (node("one", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), {}, True),
    ],
)
def test_a_pod_may_go_where_the_scheduler_would_send_it(
    given: dict[str, Any], spec: dict[str, Any], goes: bool
) -> None:
    assert bool(nodes_for(objects_of([given]), spec)) is goes


@pytest.mark.parametrize(
    ("rule", "goes"),
    [
        ({"key": "zone", "operator": "In", "values": ["a", "b"]}, True),
        ({"key": "zone", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "zone", "operator": "Exists"}, True),
        ({"key": "zone", "operator": "DoesNotExist"}, False),
        ({"key": "rank", "operator": "Gt", "values": ["2"]}, True),
        ({"key": "rank", "operator": "Lt", "values": ["2"]}, False),
        ({"key": "rank", "operator": "New", "values": []}, True),
    ],
)
def test_required_affinity_counts(rule: dict[str, Any], goes: bool) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    assert bool(nodes_for(objects_of([node("one")]), {"affinity": affinity})) is goes
