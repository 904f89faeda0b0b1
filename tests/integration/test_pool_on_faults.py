"""What the store tells of a pool's members while the simulated fleet has the pool's faults."""

from __future__ import annotations

import pytest

from db import Store
from lab.sim.fleet import Fleet
from lab.sim.scale import small
from tests.support.simulated_deck import SimulatedDeck
from tierdeck.l2.members import KnownMember, MemberKind
from tierdeck.l2.mounts import MountState, health_on, mount_health
from tierdeck.resolution import Resolution

BEGIN = 1_800_000_000.0
STALE = 45.0


@pytest.fixture
def deck(store: Store) -> SimulatedDeck:
    found = SimulatedDeck(Fleet(small(), 1, BEGIN), store, every=15.0)
    found.run(45)
    return found


def members(deck: SimulatedDeck, kind: MemberKind) -> list[KnownMember]:
    return [one for one in deck.store.pool_members() if one.member.kind is kind]


def states(deck: SimulatedDeck) -> set[MountState]:
    return {mount_health(one, deck.now, STALE).state for one in members(deck, MemberKind.MOUNT)}


def test_mounts_hang_fail_and_fall_silent_and_a_worker_is_lost(deck: SimulatedDeck) -> None:
    assert states(deck) == {MountState.WORKING}
    workers = [one.member.worker for one in members(deck, MemberKind.WORKER)]
    assert [(one.status, one.disks) for one in workers if one is not None] == [("Live", 1.0)] * 3
    (now,) = deck.store.pool_now()
    assert now.account.files == now.account.blocks
    assert (now.account.written_bytes or 0) > 0

    deck.switch("fuse-hang", "chat")
    deck.run(120)
    assert states(deck) == {MountState.HUNG}
    here = health_on("simulated.invalid", deck.store.pool_members(), deck.now, STALE)
    assert here.state is MountState.HUNG
    assert "replies wait" in here.reason
    deck.switch("fuse-hang", "chat", on=False)

    deck.switch("full-pool", "chat")
    deck.switch("worker-loss", "chat")
    deck.run(45)
    assert states(deck) == {MountState.WORKING}
    failing = [dict(one.member.mount.errors) for one in members(deck, MemberKind.MOUNT) if one.member.mount]
    assert all(errors.get("EIO", 0) > 0 for errors in failing)
    (lost,) = [one for one in members(deck, MemberKind.WORKER) if one.member.worker and
               one.member.worker.status == "Lost"]  # fmt: skip
    assert (lost.member.name, lost.member.reason) == ("0", "the worker is gone")

    deck.switch("fuse-metrics-error", "chat")
    deck.run(60)
    assert states(deck) == {MountState.SILENT}
    series = deck.store.pool_series(deck.now - 60, deck.now, Resolution.RAW)
    assert series["read_bytes"].isna().all()  # nobody tells: not 0
