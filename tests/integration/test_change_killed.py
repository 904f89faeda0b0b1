"""The controller is killed at each point between two effects; the next one ends the same, with the same writes.

A kill is a BaseException at a seam: what was written before it is written, nothing after it happens. The next
controller waits for the lease of the dead one and goes on from the store.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from controller.changes.changer import DeniedError, Progress, Verified
from db import Store
from tests.support.any_changes import CHANGE
from tests.support.change_bench import Bench
from tests.support.stores import Sqlite, open_store
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import Wish

GIB = 2**30
RESIZE = replace(CHANGE, wish=Wish(l1_bytes=40 * GIB, l2_bytes=100 * GIB), key="resize")


class Killed(BaseException):
    """SIGKILL: nothing in the process sees it."""


@dataclass
class Trap:
    """Kills at the n-th point; counts otherwise."""

    at_point: int | None = None
    passed: list[str] = field(default_factory=list)

    def at(self, point: str) -> None:
        self.passed.append(point)
        if len(self.passed) - 1 == self.at_point:
            raise Killed


@dataclass(frozen=True)
class Ended:
    """What is left in the end."""

    state: State
    outcome: str
    states: tuple[str, ...]
    written: tuple[object, ...]
    fields: dict[object, object]
    events: int


def kept(bench: Bench) -> Change:
    return bench.propose()


def at_once(bench: Bench) -> Change:
    return bench.propose(replace(CHANGE, is_approved_at_once=True))


def resized(bench: Bench) -> Change:
    return bench.propose(RESIZE)


def refused(bench: Bench) -> Change:
    return bench.propose(replace(CHANGE, wish=Wish(strategy="fastest")))


def denied_half_way(bench: Bench) -> Change:
    bench.fleet.faults.denied["chat-pool"] = "its quota is used up"
    return bench.propose(RESIZE)


def not_in_effect(bench: Bench) -> Change:
    bench.fleet.faults.behaves = "roundrobin"
    return bench.propose()


def stuck(bench: Bench) -> Change:
    bench.fleet.faults.verified = [Verified(Progress.FAILED, "chat-0/vllm was OOM-killed")] * 50
    return bench.propose()


def waiting(bench: Bench) -> Change:
    bench.fleet.faults.denied["chat-router"] = "no"
    return bench.propose()


def previewed_anew(bench: Bench) -> Change:
    """Somebody else writes between the preview and the approval."""
    proposed = bench.propose()
    bench.work(bench.started("before"))
    bench.store.approve_change(proposed.id, "bob", bench.clock.now)
    key = next(one for one in bench.fleet.fields if one[0].name == "chat-router")
    bench.fleet.fields[key] = "session"
    return proposed


def cancelled(bench: Bench) -> Change:
    """Nobody approves it."""
    proposed = bench.propose()
    bench.work(bench.started("before"))
    bench.clock.now += 86400
    return proposed


def reverted(bench: Bench) -> Change:
    """What a change wrote is written back; the seam is of the revert alone."""
    first = bench.made(RESIZE)
    bench.fleet.written.clear()
    return bench.propose(replace(CHANGE, reverts=first.id, wish=Wish(l1_bytes=5 * GIB), key="undo"))


PATHS: dict[Callable[[Bench], Change], State] = {
    kept: State.KEPT,
    at_once: State.KEPT,
    resized: State.KEPT,
    refused: State.REFUSED,
    denied_half_way: State.FAILED,
    not_in_effect: State.FAILED,
    stuck: State.FAILED,
    waiting: State.FAILED,
    previewed_anew: State.KEPT,
    cancelled: State.CANCELLED,
    reverted: State.KEPT,
}


def through(store: Store, folder: Path, begin: Callable[[Bench], Change], at_point: int | None) -> tuple[Ended, Trap]:
    """From the proposal to the end, with one kill on the way."""
    bench = Bench(store, folder)
    proposed = begin(bench)
    trap = Trap(at_point)
    bench.seam = trap
    bench.fleet.seam = trap
    runner = bench.started("a")
    kills = 0
    for _ in range(400):
        try:
            bench.work(runner)
        except Killed:
            kills += 1
            runner = bench.started(f"b{kills}")
            continue
        now = bench.now(proposed.id)
        if now.state.is_over:
            break
        if now.state is State.PREVIEWED and begin is not cancelled:
            store.approve_change(proposed.id, "bob", bench.clock.now)
        else:
            bench.clock.now += 10
    assert kills == (at_point is not None)
    now = bench.now(proposed.id)
    return Ended(
        now.state,
        now.outcome,
        tuple(dict.fromkeys(step.state for step in bench.steps(now.id))),
        tuple(bench.fleet.written),
        dict(bench.fleet.fields),
        len(store.events(0, 1e12)),
    ), trap


@pytest.mark.parametrize("begin", PATHS, ids=lambda one: one.__name__)
def test_wherever_it_is_killed_the_next_one_ends_the_same(
    sqlite: Sqlite, tmp_path: Path, begin: Callable[[Bench], Change]
) -> None:
    with open_store(sqlite) as store:
        expected, trap = through(store, tmp_path, begin, None)
    assert expected.state is PATHS[begin]
    assert len(set(expected.written)) == len(expected.written)  # nothing twice
    points = trap.passed
    assert len(points) >= 3
    for index, point in enumerate(points):
        with open_store(sqlite) as store, tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            assert (point, through(store, Path(folder), begin, index)[0]) == (point, expected)


def test_the_points_are_those_between_effects(sqlite: Sqlite, tmp_path: Path) -> None:
    with open_store(sqlite) as store:
        _, trap = through(store, tmp_path, resized, None)
    assert trap.passed == [
        "claimed", "planned", "previewed", "moving previewed", "moved previewed", "moving previewed", "moved previewed",
        "claimed", "planned", "moving applying", "moved applying",
        "applying", "writing 0", "written 0", "writing 1", "written 1", "applied", "moving proving", "moved proving",
        "verified", "moving observing", "moved observing", "moving kept", "moved kept",
    ]  # fmt: skip


def test_a_kill_between_two_writes_never_becomes_a_whole_change_too_early(sqlite: Sqlite, tmp_path: Path) -> None:
    """Half-made is never called done: what is denied at the second write fails, also after a restart."""
    with open_store(sqlite) as store:
        bench = Bench(store, tmp_path)
        proposed = bench.propose(replace(RESIZE, is_approved_at_once=True))
        bench.fleet.seam = Trap(1)  # after the first object was written
        with pytest.raises(Killed):
            bench.work()
        assert bench.now(proposed.id).state is State.APPLYING
        bench.fleet.seam = Trap()
        bench.fleet.faults.raising["apply"] = [DeniedError("a webhook says no", written=1)]
        failed = bench.until(proposed.id, lambda one: one.state.is_over, bench.started("b"))
        assert (failed.state, failed.outcome) == (State.FAILED, "a webhook says no; 1 of 2 objects are written")
