"""Workers and mounts of pools in the store, on both databases: the newest of each, and whose node it is on."""

from __future__ import annotations

from collections.abc import Sequence

from db import Store
from tests.support.rounds import T0
from tierdeck.account import Answer
from tierdeck.deployed import Configuration, Deployed, ObjectRef, PodRun, Sighting, Stated, StatedSize
from tierdeck.events import Event
from tierdeck.fleet import POOL, ReplicaKey
from tierdeck.l2.members import MemberKind, MountFacts, PoolMember, WorkerFacts
from tierdeck.l2.mounts import MountState, health_on
from tierdeck.ledger import TokenLedger
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round

NVME = ReplicaKey("east", POOL, "nvme")
WORKER = PoolMember(MemberKind.WORKER, "0", worker=WorkerFacts("w-0", "Live", 100.0, 40.0, 60.0), address="10.3.0.2")
MOUNT = PoolMember(
    MemberKind.MOUNT,
    "1a2b",
    mount=MountFacts(T0, (("EIO", 3.0),), T0, 0.0, active=1.0, answered=9.0),
    address="172.16.0.1",
)


def members_round(at: float, *members: PoolMember, who: ReplicaKey = NVME, is_past: bool = False) -> Round:
    return Round(who, at, TokenLedger(at - 15, at), Answer.NO_ENGINE, (), is_past=is_past, members=members)


def test_members_are_kept_as_they_were_told_last(store: Store) -> None:
    assert store.pool_members() == []
    store.append([members_round(T0, WORKER, MOUNT)])
    silent = PoolMember(MemberKind.MOUNT, "1a2b", "connection refused", address="172.16.0.1")
    store.append([members_round(T0 + 15, WORKER, silent)])
    mount, worker = sorted(store.pool_members("east"), key=lambda one: one.member.kind)
    assert (worker.pool, worker.member, worker.at, worker.told_at) == (NVME, WORKER, T0 + 15, T0 + 15)
    assert (mount.member.mount, mount.member.reason) == (MOUNT.mount, "connection refused")
    assert (mount.at, mount.told_at, mount.node) == (T0 + 15, T0, "")
    assert store.pool_members("west") == []


def test_a_member_that_its_pool_has_no_more_is_not_told_and_an_old_round_changes_nothing(store: Store) -> None:
    store.append([members_round(T0, WORKER, MOUNT), members_round(T0 + 15, WORKER)])
    assert [one.member for one in store.pool_members()] == [WORKER]
    store.append([members_round(T0, MOUNT), members_round(T0 + 30, MOUNT, is_past=True)])
    assert [one.member for one in store.pool_members()] == [WORKER]
    store.prune(T0 + 1000, {Resolution.RAW: 100})
    assert store.pool_members() == []


def test_a_mount_is_on_the_node_of_its_pod(store: Store) -> None:
    store.append([members_round(T0, MOUNT)])
    pod = PodRun("fuse-1a2b", "curvine", "u", "ip-10-1", "172.16.0.1", "Running", True, T0, None)
    store.sight(Sighting("east", T0, (_deployed(pod),)), no_events)
    assert [one.node for one in store.pool_members()] == ["ip-10-1"]
    health = health_on("ip-10-1", store.pool_members("east"), T0 + 10, 45.0)
    assert (health.state, health.age_seconds) == (MountState.WORKING, 10.0)
    assert health_on("ip-10-1", store.pool_members("east"), T0 + 60, 45.0).state is MountState.SILENT


def no_events(*_: object) -> Sequence[Event]:
    return ()


def _deployed(pod: PodRun) -> Deployed:
    no, none = Stated.unknown("a pool"), StatedSize.unknown("a pool")
    configuration = Configuration(no, none, none, none)
    source = ObjectRef("StatefulSet", "curvine", "curvine-worker")
    return Deployed("east", POOL, "nvme", "curvine", source, "s", configuration, configuration, pods=(pod,))
