"""What happened between two sightings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.deployed import GIB, configuration, deployed, pod
from tierdeck.deployed import (
    Component,
    ContainerRun,
    Deployed,
    Node,
    ObjectRef,
    PodRun,
    Remembered,
    Revision,
    Sighting,
    StatedSize,
    Workload,
)
from tierdeck.events import Event, EventKind
from tierdeck.happened import happened

REF = ObjectRef("Deployment", "inference", "chat")


def revision(number: int, image: str = "vllm:v1", identity: str = "") -> Revision:
    return Revision(number, identity or f"rs-{number}", 1000.0 * number, (("vllm", image),))


def workload(*revisions: Revision, wanted: int | None = 2, trouble: str = "") -> Workload:
    components = (("vllm", Component.ENGINE),)
    return Workload(REF, "uid-chat", wanted, 2, components, revisions or (revision(1),), trouble=trouble)


def endpoint(*workloads: Workload, **changes: object) -> Deployed:
    return replace(deployed(), workloads=workloads or (workload(),), **changes)  # type: ignore[arg-type]


def remembered(*some: Deployed, nodes: Sequence[Node] = (), is_first: bool = False) -> Remembered:
    return Remembered({one.key: one for one in some}, {node.name: node for node in nodes}, is_first)


def sighting(*some: Deployed, nodes: Sequence[Node] = (), at: float = 9000.0) -> Sighting:
    return Sighting("east", at, some, tuple(nodes))


def kinds(events: Sequence[Event]) -> list[EventKind]:
    return [event.kind for event in events]


def test_nothing_happened_where_nothing_changed() -> None:
    one = endpoint(pods=(pod(restarts=3),))
    assert happened(remembered(one), sighting(one)) == ()


def test_an_endpoint_that_comes_has_appeared_and_one_that_goes_is_gone() -> None:
    assert kinds(happened(remembered(), sighting(endpoint()))) == [EventKind.APPEARED]
    assert kinds(happened(remembered(endpoint()), sighting())) == [EventKind.GONE]


def test_what_is_there_at_the_first_sighting_has_not_appeared() -> None:
    assert happened(remembered(is_first=True), sighting(endpoint())) == ()


def test_an_endpoint_that_was_made_anew_is_another_one() -> None:
    new = endpoint(source_uid="another")
    assert sorted(kinds(happened(remembered(endpoint()), sighting(new)))) == [EventKind.APPEARED, EventKind.GONE]


def test_every_revision_since_is_a_rollout_at_its_own_time() -> None:
    new = endpoint(workload(revision(1), revision(2), revision(3)))
    found = happened(remembered(endpoint()), sighting(new))
    assert [(event.kind, event.at, event.key) for event in found] == [
        (EventKind.ROLLOUT, 2000.0, "rollout/uid-chat/2/inference/chat"),
        (EventKind.ROLLOUT, 3000.0, "rollout/uid-chat/3/inference/chat"),
    ]


def test_a_rollout_back_to_an_old_revision_happens_when_it_is_seen() -> None:
    old = endpoint(workload(revision(1), revision(2)))
    new = endpoint(workload(revision(2), revision(3, identity="rs-1")))
    assert [event.at for event in happened(remembered(old), sighting(new))] == [9000.0]


def test_past_rollouts_are_told_at_the_first_sighting_but_not_the_first_revision() -> None:
    new = endpoint(workload(revision(4), revision(5, "vllm:v2")))
    found = happened(remembered(is_first=True), sighting(new))
    assert [(event.kind, event.at) for event in found] == [
        (EventKind.IMAGE_CHANGED, 5000.0),
        (EventKind.ROLLOUT, 5000.0),
    ]


def test_another_image_is_told_with_both_and_its_part() -> None:
    new = endpoint(workload(revision(1), revision(2, "vllm:v2")))
    image = happened(remembered(endpoint()), sighting(new))[0]
    assert (image.kind, image.words) == (EventKind.IMAGE_CHANGED, "engine image vllm:v1 → vllm:v2")
    assert image.detail == {"container": "vllm", "component": "engine", "from": "vllm:v1", "to": "vllm:v2"}


def test_a_rollout_that_is_stuck_is_told_once_a_revision() -> None:
    new = endpoint(workload(trouble="ProgressDeadlineExceeded: too slow"))
    found = happened(remembered(endpoint()), sighting(new))
    assert [(event.kind, event.words) for event in found] == [
        (EventKind.ROLLOUT_STUCK, "ProgressDeadlineExceeded: too slow")
    ]
    assert happened(remembered(new), sighting(new)) == ()


@pytest.mark.parametrize(
    ("before", "after", "kind"), [(2, 3, EventKind.SCALED_OUT), (3, 0, EventKind.SCALED_IN), (None, 3, None)]
)
def test_another_number_of_replicas_is_a_scale(before: int | None, after: int, kind: EventKind | None) -> None:
    old, new = endpoint(workload(wanted=before)), endpoint(workload(wanted=after))
    assert kinds(happened(remembered(old), sighting(new))) == ([] if kind is None else [kind])


def test_another_strategy_says_who_changed_it() -> None:
    new = endpoint(configured=configuration("kvaware"), changed_by="kubectl-edit")
    (event,) = happened(remembered(endpoint()), sighting(new))
    assert (event.kind, event.words) == (EventKind.ROUTING_CHANGED, "routing prefixaware → kvaware, by kubectl-edit")


def test_another_size_of_a_tier_is_told_in_its_own_words() -> None:
    new = endpoint(configured=configuration(l1_gib=80))
    (event,) = happened(remembered(endpoint()), sighting(new))
    assert (event.kind, event.words) == (EventKind.SIZE_CHANGED, "L1 40 GiB → 80 GiB, by argocd-controller")


def test_a_size_that_can_no_longer_be_told_has_not_changed() -> None:
    unknown = replace(configuration(), l1=StatedSize.unknown("the ConfigMap can't be read"))
    assert happened(remembered(endpoint()), sighting(endpoint(configured=unknown))) == ()


def test_drift_is_told_with_both_sides_and_when_it_is_over() -> None:
    off = endpoint(effective=configuration("roundrobin"), drifting=("strategy",))
    (event,) = happened(remembered(endpoint()), sighting(off))
    assert (event.kind, event.words) == (EventKind.DRIFT, "strategy: prefixaware is configured, roundrobin runs")
    (over,) = happened(remembered(off), sighting(endpoint(effective=configuration())))
    assert over.kind is EventKind.DRIFT_OVER


def ran(restarts: int, reason: str = "Error", code: int = 1, waiting: str = "") -> PodRun:
    run = ContainerRun(
        "vllm", Component.ENGINE, "vllm:v1", restarts, None, reason if restarts else "", code, 8000.0, waiting
    )
    return replace(pod(), containers=(run,))


def test_each_restart_is_told_and_the_last_one_with_its_reason() -> None:
    found = happened(remembered(endpoint(pods=(ran(1),))), sighting(endpoint(pods=(ran(3),))))
    assert [(event.kind, event.key) for event in found] == [
        (EventKind.RESTART, "restart/uid-chat-0/vllm/2/inference/chat"),
        (EventKind.RESTART, "restart/uid-chat-0/vllm/3/inference/chat"),
    ]
    assert found[1].words == "chat-0: vllm restarted (Error, exit code 1)"
    assert found[0].detail["reason"].startswith("not told")


def test_a_container_out_of_memory_is_an_event_of_its_own_at_its_end() -> None:
    new = endpoint(pods=(ran(1, "OOMKilled", 137),))
    (event,) = happened(remembered(endpoint(pods=(ran(0),))), sighting(new))
    assert (event.kind, event.at, event.replica) == (EventKind.OOM, 8000.0, "chat-0")


def test_of_an_endpoint_seen_first_only_the_last_restart_is_told() -> None:
    found = happened(remembered(is_first=True), sighting(endpoint(pods=(ran(7),))))
    assert [event.key for event in found] == ["restart/uid-chat-0/vllm/7/inference/chat"]


def test_a_pod_that_came_and_restarted_unseen_tells_every_restart() -> None:
    found = happened(remembered(endpoint()), sighting(endpoint(pods=(ran(2),))))
    assert [event.key for event in found] == [
        "restart/uid-chat-0/vllm/1/inference/chat",
        "restart/uid-chat-0/vllm/2/inference/chat",
    ]


@pytest.mark.parametrize("known", [endpoint(), endpoint(pods=(replace(pod(), containers=()),)), None])
@pytest.mark.parametrize(("last_at", "told"), [(7999.0, [3]), (8000.0, []), (8500.0, [])])
def test_a_container_that_comes_into_sight_late_tells_its_last_restart_if_that_is_new(
    known: Deployed | None, last_at: float, told: list[int]
) -> None:
    # the pod was made at 900, before the last sighting, and its last process ended at 8000
    before = replace(remembered(*([] if known is None else [known])), at=last_at)
    found = happened(before, sighting(endpoint(pods=(ran(3),))))
    restarts = [event for event in found if event.kind is EventKind.RESTART]
    assert [event.key for event in restarts] == [f"restart/uid-chat-0/vllm/{number}/inference/chat" for number in told]


def test_of_a_pod_that_comes_into_sight_late_a_restart_without_a_time_is_not_told() -> None:
    run = replace(ran(3).containers[0], last_finished_at=None)
    before = replace(remembered(endpoint()), at=8500.0)
    assert happened(before, sighting(endpoint(pods=(replace(pod(), containers=(run,)),)))) == ()


def test_a_pod_that_was_made_while_nobody_looked_tells_every_restart() -> None:
    before = replace(remembered(endpoint()), at=800.0)  # the pod was made at 900
    assert len(happened(before, sighting(endpoint(pods=(ran(3),))))) == 3


def test_a_crash_loop_is_told_when_it_begins() -> None:
    looping = endpoint(pods=(ran(4, waiting="CrashLoopBackOff"),))
    assert kinds(happened(remembered(endpoint(pods=(ran(4),))), sighting(looping))) == [EventKind.CRASH_LOOP]
    assert happened(remembered(looping), sighting(looping)) == ()


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ("Evicted: the node was low on memory", EventKind.EVICTED),
        ("Unschedulable: 0/3 nodes are available", EventKind.UNSCHEDULABLE),
    ],
)
def test_a_pod_without_a_place_is_told_once(trouble: str, kind: EventKind) -> None:
    new = endpoint(pods=(replace(pod(), trouble=trouble),))
    assert kinds(happened(remembered(endpoint(pods=(pod(),))), sighting(new))) == [kind]
    assert happened(remembered(new), sighting(new)) == ()


def node(name: str = "node-1", uid: str = "uid-1", **changes: object) -> Node:
    return replace(Node("east", name, uid, 0.0, "gpu", gpus=8), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (node(is_schedulable=False), EventKind.NODE_DRAINED),
        (node(pressures=("MemoryPressure",)), EventKind.NODE_PRESSURE),
        (node(gone_at=9000.0), EventKind.NODE_GONE),
        (node(uid="uid-2"), EventKind.NODE_REPLACED),
    ],
)
def test_what_happens_to_a_node_is_told_to_the_endpoint_with_pods_there(new: Node, kind: EventKind) -> None:
    one = endpoint(pods=(pod(),))
    (event,) = happened(remembered(one, nodes=[node()]), sighting(one, nodes=[new]))
    assert (event.kind, event.endpoint, event.detail["pods"]) == (kind, one.endpoint, "chat-0")
    assert happened(remembered(one, nodes=[new]), sighting(one, nodes=[new])) == ()


def test_a_node_that_takes_the_place_of_one_that_went_is_told() -> None:
    gone = node(gone_at=8000.0)
    found = happened(remembered(nodes=[gone]), sighting(nodes=[replace(gone, replaced_by="node-2"), node("node-2")]))
    assert [(event.kind, event.endpoint) for event in found] == [(EventKind.NODE_REPLACED, "")]
    assert found[0].words == "node node-2 takes the place of node-1 in gpu"


def test_a_node_of_others_without_gpus_is_nobody_s_event() -> None:
    plain = node(gpus=0)
    assert happened(remembered(nodes=[plain]), sighting(nodes=[replace(plain, gone_at=9000.0)])) == ()


def test_every_event_of_a_moment_has_a_key_of_its_own() -> None:
    old = endpoint(workload(revision(1)), pods=(ran(0),))
    new = endpoint(
        workload(revision(1), revision(2, "vllm:v2"), wanted=5, trouble="FailedCreate: quota"),
        pods=(ran(2, "OOMKilled", 137, "CrashLoopBackOff"),),
        configured=configuration("session", l1_gib=8, l2_gib=9),
        drifting=("strategy", "L1"),
    )
    found = happened(remembered(old, nodes=[node()]), sighting(new, nodes=[node(pressures=("DiskPressure", "PID"))]))
    keys = [event.key for event in found]
    # rollout, image, stuck, scale, routing, L1, L2, 2 restarts, crash loop, drift of strategy and of L1, 2 pressures
    assert len(keys) == len(set(keys)) == 14, kinds(found)


def test_a_size_in_bytes_is_compared_as_bytes() -> None:
    same = replace(configuration(), l1=StatedSize(40 * GIB, "42949672960"))
    assert happened(remembered(endpoint()), sighting(endpoint(configured=same))) == ()


def test_endpoints_that_share_a_router_are_both_told_what_happens_to_it() -> None:
    old, new = endpoint(workload(wanted=1), pods=(ran(0),)), endpoint(workload(wanted=2), pods=(ran(1),))
    other = replace(old, endpoint="inference/rag", source_uid="uid-rag")
    found = happened(remembered(old, other), sighting(new, replace(other, workloads=new.workloads, pods=new.pods)))
    assert sorted((event.endpoint, event.kind.value) for event in found) == [
        ("inference/chat", "restart"),
        ("inference/chat", "scaled_out"),
        ("inference/rag", "restart"),
        ("inference/rag", "scaled_out"),
    ]
    assert len({event.key for event in found}) == 4
