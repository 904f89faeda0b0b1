"""Whether a mount works: hangs by what waits, silence by age, the worst one of a node."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tierdeck.fleet import POOL, ReplicaKey
from tierdeck.l2.members import KnownMember, MemberKind, MountFacts, PoolMember, WorkerFacts
from tierdeck.l2.mounts import MountState, health_on, mount_health

POOL_KEY = ReplicaKey("east", POOL, "nvme")
AT = 1_000_000.0
STALE = 45.0
BUSY = MountFacts(waiting=0.0, active=4.0, progress_at=AT - 1, is_attached=True)


def known(mount: MountFacts | None, *, told_at: float | None = AT, reason: str = "", node: str = "n1") -> KnownMember:
    member = PoolMember(MemberKind.MOUNT, "m", reason, mount=mount, address="10.0.0.1")
    return KnownMember(POOL_KEY, member, AT, told_at, node)


@pytest.mark.parametrize(
    ("mount", "state"),
    [
        (BUSY, MountState.WORKING),
        # it answered, and exports nothing that would show a hang; that it is attached is told in a hang too
        (MountFacts(started_at=1.0), MountState.SILENT),
        (MountFacts(is_attached=True), MountState.SILENT),
        (MountFacts(waiting=0.0, active=1.0), MountState.SILENT),  # no progress, and nothing counts answers
        (MountFacts(is_attached=False), MountState.DETACHED),
        (MountFacts(active=1.0, answered=7.0), MountState.WORKING),
        # idle for an hour: no sender has had anything to send
        (replace(BUSY, active=0.0, progress_at=AT - 3600), MountState.WORKING),
        # replies wait at this scrape alone, and one of the senders was idle
        (replace(BUSY, waiting=2.0, waiting_since=AT, progress_at=AT - 3600), MountState.WORKING),
        (replace(BUSY, waiting=2.0, waiting_since=AT - 75, progress_at=AT - 1), MountState.WORKING),
        (replace(BUSY, waiting=2.0, waiting_since=AT - 75, progress_at=AT - 90), MountState.HUNG),
        (replace(BUSY, idle_since=AT - 60), MountState.WORKING),
        (replace(BUSY, idle_since=AT - 61), MountState.HUNG),
        (replace(BUSY, is_attached=False), MountState.DETACHED),
        # the node's clock is ahead of the collector's
        (replace(BUSY, waiting=2.0, waiting_since=AT - 75, progress_at=AT + 30), MountState.WORKING),
    ],
)
def test_a_mount_hangs_where_something_waits_and_nothing_moves_for_a_minute(
    mount: MountFacts, state: MountState
) -> None:
    health = mount_health(known(mount), AT + 5, STALE)
    assert (health.state, health.at, health.age_seconds) == (state, AT, 5.0)
    assert health.is_known_healthy == (state is MountState.WORKING)


def test_a_hang_says_what_waits_and_for_how_long() -> None:
    mount = replace(BUSY, waiting=3.0, waiting_since=AT - 80, progress_at=AT - 90, idle_since=AT - 120)
    assert mount_health(known(mount), AT, STALE).reason == (
        "3 replies wait, a sender sent nothing for 90 s; 4 requests under way, none answered for 2 min"
    )


def test_a_client_that_was_read_and_tells_nothing_of_a_hang_says_so() -> None:
    health = mount_health(known(MountFacts(started_at=1.0)), AT, STALE)
    assert health.reason == "its client does not tell whether anything waits"
    assert health.is_read
    assert not health.is_known_healthy


def test_what_was_not_read_is_silent_with_its_reason_and_never_healthy() -> None:
    never = mount_health(known(None, told_at=None, reason="connection refused"), AT, STALE)
    assert (never.state, never.at) == (MountState.SILENT, None)
    assert never.reason == "its client was never read: connection refused"
    old = mount_health(known(BUSY, told_at=AT - 60, reason="timed out"), AT, STALE)
    assert (old.state, old.age_seconds) == (MountState.SILENT, 60.0)
    assert old.reason == "not read for 60 s: timed out"
    assert not old.is_known_healthy


def test_a_node_is_as_its_worst_mount_and_one_without_a_mount_is_not_healthy() -> None:
    hung = known(replace(BUSY, idle_since=AT - 300))
    others = [known(BUSY, node="n2"), known(None, told_at=None, node="n3")]
    worker = KnownMember(POOL_KEY, PoolMember(MemberKind.WORKER, "w", worker=WorkerFacts()), AT, AT, "n4")
    mounts = [known(BUSY), hung, *others, worker]
    states = {node: health_on(node, mounts, AT, STALE).state for node in ("n1", "n2", "n3", "n4", "10.0.0.1")}
    assert states == {
        "n1": MountState.HUNG,
        "n2": MountState.WORKING,
        "n3": MountState.SILENT,
        "n4": MountState.NONE,  # a worker is no mount
        "10.0.0.1": MountState.HUNG,
    }
    assert health_on("n2", mounts, AT, STALE, pool="another").state is MountState.NONE
    assert health_on("n4", mounts, AT, STALE).reason == "no FUSE mount is known on n4"


def test_a_member_has_facts_of_its_own_kind_only() -> None:
    with pytest.raises(ValueError, match="other kind"):
        PoolMember(MemberKind.WORKER, "w", mount=MountFacts())
