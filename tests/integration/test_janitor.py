"""The janitor on a real directory, with a real store and a clock that the test moves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from controller.janitor.directory import MountedDirectory
from controller.janitor.janitor import LEASE_SECONDS, Janitor, Whose
from controller.janitor.rounds import Rules
from controller.janitor.throttle import Rates
from db import Store
from tests.support.pool_folders import KILO, chunk_name, fill, put
from tests.support.stores import Sqlite
from tierdeck.errors import UsageError
from tierdeck.events import EventKind
from tierdeck.l2.cleaning import CleaningLimits
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import Deletion, PoolDirectory, PoolFile, PoolRoom

AT = 1_800_000_000.0
CAPACITY = 10 * KILO
SWEEP = 3600.0
RULES = Rules(limits=CleaningLimits(grace_seconds=100.0), rates=Rates(files=1.0), is_dry=False, settle_seconds=30.0)


@dataclass
class Bench:
    """A pool of ten files' room, a store, and time."""

    path: Path
    store: Store
    url: str
    now: float = AT
    janitors: list[Janitor] = field(default_factory=list)

    def janitor(
        self, rules: Rules = RULES, name: str = "a", directory: PoolDirectory | None = None, **more: Callable[[], None]
    ) -> Janitor:
        pool = directory if directory is not None else MountedDirectory(self.path, CAPACITY)
        return Janitor(
            Whose("east", "curvine", name, sweep_seconds=SWEEP), rules, self.store, pool, lambda: self.now, **more
        )

    def run(self, janitor: Janitor, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now += max(0.2, janitor.tick())

    def names(self) -> set[str]:
        return {path.name for path in self.path.rglob("*") if path.is_file()}

    def rounds(self) -> list[JanitorRun]:
        return self.store.janitor_runs()


@pytest.fixture
def bench(sqlite: Sqlite, tmp_path: Path) -> Iterator[Bench]:
    url = sqlite.migrated()
    with Store.open(url) as store:
        yield Bench(tmp_path / "pool", store, url)


def test_by_default_it_says_what_would_go_and_deletes_nothing(bench: Bench) -> None:
    fill(bench.path / "qwen", 9, AT - 200)
    bench.run(bench.janitor(replace(RULES, is_dry=Rules().is_dry)), 60.0)
    (one,) = bench.rounds()
    # 9 of 10 are used, 7.5 may stay: two files of one go, which is as few as will do.
    assert (one.outcome, one.is_dry, one.chosen_files, one.deleted_files) == (Outcome.DRY, True, 2, 0)
    assert "2 files (1.95 KiB) would go" in one.words
    assert one.identities[0].deleted_files == 2, "of this identity they would go"
    assert len(bench.names()) == 9


def test_the_oldest_go_at_their_pace_and_the_round_tells_what_came_of_it(bench: Bench) -> None:
    paths = fill(bench.path / "qwen", 9, AT - 200)
    janitor = bench.janitor()
    bench.run(janitor, 0.5)  # one file a second: the first went at once
    assert [path.exists() for path in paths[:2]] == [False, True]
    (begun,) = bench.rounds()
    assert (begun.outcome, begun.ended_at, begun.chosen_files) == (Outcome.RUNNING, None, 2)
    bench.run(janitor, 30.0)
    (one,) = bench.rounds()
    assert (one.id, one.outcome, one.deleted_files, one.deleted_bytes) == (begun.id, Outcome.CLEANED, 2, 2 * KILO)
    assert (one.used_before_bytes, one.used_after_bytes, one.fell_bytes) == (9 * KILO, 7 * KILO, 2 * KILO)
    assert bench.names() == {path.name for path in paths[2:]}
    assert "90 % of 9.77 KiB are used" in one.why
    assert "2 files (1.95 KiB) went, those written longest ago. The pool's use fell by 1.95 KiB." in one.words
    (event,) = bench.store.events(AT, AT + 60).to_dict("records")
    assert (event["kind"], event["replica"], event["detail"]["files"]) == (EventKind.JANITOR.value, "curvine", "2")


def test_below_the_mark_nothing_goes_but_a_round_comes_now_and_then(bench: Bench) -> None:
    fill(bench.path, 5, AT - 200)
    orphan = put(bench.path, chunk_name(1).replace(".data", ".tmp"), AT - 7200)
    fresh = put(bench.path, chunk_name(2).replace(".data", ".tmp"), AT - 60)
    janitor = bench.janitor()
    bench.run(janitor, 300.0)
    (one,) = bench.rounds()
    assert (one.outcome, one.temporary_files, one.deleted_files) == (Outcome.CLEANED, 1, 1)
    assert (orphan.exists(), fresh.exists(), len(bench.names())) == (False, True, 6)
    bench.run(bench.janitor(), 300.0)  # a new process knows when the last round was
    assert len(bench.rounds()) == 1
    bench.now = AT + SWEEP + 60.0
    bench.run(janitor, 60.0)
    assert [run.outcome for run in bench.rounds()] == [
        Outcome.CLEANED,
        Outcome.CLEANED,
    ]  # the second orphan is one by now


def test_a_directory_with_anything_else_in_it_is_left_alone(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)
    put(bench.path, "thesis.tex", AT - 9999)
    janitor = bench.janitor()
    bench.run(janitor, 60.0)
    (one,) = bench.rounds()
    assert (one.outcome, one.deleted_files) == (Outcome.REFUSED, 0)
    assert "thesis.tex is nothing that LMCache writes" in one.words
    assert janitor.trouble == one.words
    assert len(bench.names()) == 10
    (bench.path / "thesis.tex").unlink()
    bench.run(janitor, 400.0)
    assert (bench.rounds()[0].outcome, janitor.trouble) == (Outcome.CLEANED, "")


def test_a_path_that_must_not_be_touched_is_not_walked(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)

    def check() -> None:
        raise UsageError("that is no pool", "Mount it.")

    janitor = bench.janitor(check=check)
    bench.run(janitor, 60.0)
    (one,) = bench.rounds()
    assert (one.outcome, one.words, one.files) == (Outcome.REFUSED, "that is no pool. Mount it.", 0)
    assert len(bench.names()) == 9


def test_only_the_leases_holder_cleans(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)
    assert bench.store.hold_lease("janitor/east/curvine", "other", AT, LEASE_SECONDS)
    bench.run(bench.janitor(), 30.0)
    assert (bench.rounds(), len(bench.names())) == ([], 9)
    bench.run(bench.janitor(), 60.0)  # the other one said no more
    assert bench.rounds()[0].outcome is Outcome.CLEANED


def test_one_that_lost_its_lease_deletes_no_more(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200, apart_seconds=1.0)
    slow = replace(RULES, rates=Rates(files=0.01))
    first = bench.janitor(slow)
    bench.run(first, 1.0)
    assert len(bench.names()) == 8
    bench.now += LEASE_SECONDS + 1  # it was stuck
    assert bench.store.hold_lease("janitor/east/curvine", "b", bench.now, LEASE_SECONDS)
    bench.run(first, 200.0)
    (one,) = bench.rounds()
    assert len(bench.names()) == 8
    assert (one.outcome, one.deleted_files) == (Outcome.SHORT, 1)
    assert "another janitor has this pool now" in one.words


def test_without_the_store_nothing_more_goes(bench: Bench) -> None:
    fill(bench.path, 10, AT - 200)
    janitor = bench.janitor(replace(RULES, rates=Rates(files=0.05)))
    bench.run(janitor, 1.0)
    with sqlite3.connect(bench.url.removeprefix("sqlite:///")) as connection:
        connection.execute("ALTER TABLE leases RENAME TO gone")
    bench.run(janitor, 60.0)
    assert len(bench.names()) == 9
    assert "does not answer" in janitor.trouble
    with sqlite3.connect(bench.url.removeprefix("sqlite:///")) as connection:
        connection.execute("ALTER TABLE gone RENAME TO leases")
    bench.run(janitor, 200.0)
    assert (len(bench.names()), janitor.trouble) == (7, "")


def test_one_that_is_killed_leaves_its_row_and_the_next_one_goes_on(bench: Bench) -> None:
    fill(bench.path, 10, AT - 200)
    bench.run(bench.janitor(replace(RULES, rates=Rates(files=0.01))), 1.0)  # and is heard of no more
    bench.run(bench.janitor(name="b"), 2 * LEASE_SECONDS)
    newest, cut_off = bench.rounds()
    assert (cut_off.outcome, cut_off.ended_at, cut_off.deleted_files) == (Outcome.RUNNING, None, 1)
    assert (newest.outcome, newest.holder, newest.deleted_files) == (Outcome.CLEANED, "b", 2)
    assert len(bench.names()) == 7


def test_one_that_is_told_to_stop_deletes_no_more_and_frees_the_lease(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)
    janitor = bench.janitor(replace(RULES, rates=Rates(files=0.01)))
    bench.run(janitor, 1.0)
    janitor.stop()
    (one,) = bench.rounds()
    assert (one.outcome, "was stopped" in one.words, len(bench.names())) == (Outcome.SHORT, True, 8)
    assert bench.store.hold_lease("janitor/east/curvine", "b", bench.now, 1.0)


class Sticky(MountedDirectory):
    """Deleted files leave the pool's use as it was, as where their blocks are on workers that are lost."""

    def room(self) -> PoolRoom:
        return PoolRoom(CAPACITY, 9 * KILO)


def test_deleting_that_makes_no_room_is_said(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)
    janitor = bench.janitor(directory=Sticky(bench.path))
    while not any(run.ended_at for run in bench.rounds()):
        bench.run(janitor, 1.0)
    one = bench.rounds()[-1]
    assert "fell by 0 B, which is less than what went" in one.words


class ReadOnly(MountedDirectory):
    """A mount that takes no deletions."""

    def delete(self, file: PoolFile) -> Deletion:
        raise UsageError("the pool can't be rid of it: Read-only file system")


def test_a_pool_that_takes_no_deletions_is_given_up(bench: Bench) -> None:
    fill(bench.path, 9, AT - 200)
    bench.run(bench.janitor(directory=ReadOnly(bench.path, CAPACITY)), 60.0)
    one = bench.rounds()[-1]
    assert (one.outcome, one.deleted_files) == (Outcome.SHORT, 0)
    assert "Read-only file system" in one.words


def test_events_of_one_outcome_come_once_an_hour(bench: Bench) -> None:
    janitor = bench.janitor()
    for number in range(3):
        fill(bench.path, 9, bench.now - 200)
        bench.run(janitor, 120.0)
        assert len(bench.rounds()) >= number + 1
    assert len(bench.store.events(AT - 1, AT + 7200)) == 1
