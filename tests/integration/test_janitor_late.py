"""However late blocks are freed, the janitor deletes no more than its pool surely needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from controller.janitor.janitor import Janitor, Whose
from controller.janitor.owed import OWED_SECONDS
from controller.janitor.rounds import Rules
from controller.janitor.throttle import Rates
from db import Store
from tests.support.late_pool import CAPACITY, GIB, LatePool
from tests.support.stores import Sqlite
from tierdeck.errors import UnreachableError, UsageError
from tierdeck.l2.janitor_runs import JanitorRun, Outcome
from tierdeck.l2.pool_file import PoolRoom

AT = 1_800_000_000.0
LOOK = 30.0
RULES = Rules(rates=Rates(100.0, 1000.0 * GIB), is_dry=False)
LEAD = LOOK + RULES.settle_seconds + 20.0
LOW, HALF = 0.75 * CAPACITY, 0.05 * CAPACITY
NAMES = count()


@dataclass
class Deck:
    """A janitor on a pool, and what was seen of both."""

    store: Store
    now: float = AT
    most_busy: float = 0.0
    seen: list[tuple[float, int, int, int]] = field(default_factory=list)
    """When, bytes used, written and deleted."""
    troubles: set[str] = field(default_factory=set)
    top: float = 0.0

    def __post_init__(self) -> None:
        self.name = f"pool-{next(NAMES)}"

    def clock(self) -> float:
        return self.now

    def janitor(self, pool: LatePool, rules: Rules = RULES, holder: str = "a", name: str = "", **more) -> Janitor:  # type: ignore[no-untyped-def]
        whose = Whose("east", name or self.name, holder, look_seconds=LOOK)
        return Janitor(whose, rules, self.store, pool, self.clock, **more)

    def run(self, janitor: Janitor, pool: LatePool, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            wait = janitor.tick()
            pool.grow()
            size = pool.file_bytes
            self.seen.append((self.now, pool.used_bytes, pool.came * size, pool.deleted * size))
            self.most_busy = max(self.most_busy, janitor.pace.busy if janitor.pace is not None else 0.0)
            self.top = max(self.top, pool.used_bytes / CAPACITY)
            self.troubles.add(janitor.trouble)
            self.now += max(1.0, wait)

    def rounds(self) -> list[JanitorRun]:
        return self.store.janitor_runs("east", self.name, limit=500)


@pytest.fixture
def deck(sqlite: Sqlite) -> Iterator[Deck]:
    with Store.open(sqlite.migrated()) as store:
        yield Deck(store)


late = st.one_of(st.none(), st.sampled_from([0.0, 5.0, 60.0, 300.0, 899.0, 1500.0]))
paces = st.lists(st.sampled_from([0.0, 0.0, 0.005, 0.02, 0.1, 1.0]), min_size=6, max_size=6)
"""Files of 10 GiB a second, each for five minutes: up to a pool that is full within two."""


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(late, paces, st.integers(70, 99))
@example(None, [0.0] * 6, 86)
@example(300.0, [0.02] * 6, 86)
@example(300.0, [0.0] * 6, 86)
def test_no_more_goes_in_a_quarter_of_an_hour_than_the_pool_was_above_its_mark_and_what_was_written(
    deck: Deck, late_seconds: float | None, writes: list[float], files: int
) -> None:
    one = Deck(deck.store)
    pool = LatePool(
        one.clock, files, late_seconds, lambda since: writes[min(len(writes) - 1, math.floor(since / 300.0))]
    )
    one.run(one.janitor(pool), pool, 1800.0)
    below = max(0.0, one.most_busy * LEAD - HALF)  # where it cleans further down, since so much is written
    for number, (began_at, used, written, deleted) in enumerate(one.seen[::3]):
        for at, _, written_then, deleted_then in one.seen[3 * number :: 2]:
            if at < began_at + OWED_SECONDS:
                most = max(0.0, used - LOW) + written_then - written + below + pool.file_bytes
                assert deleted_then - deleted <= most, (began_at - AT, at - AT)


def test_a_pool_that_gives_nothing_back_is_cleaned_once_and_that_is_said(deck: Deck) -> None:
    pool = LatePool(deck.clock, late_seconds=None)
    janitor = deck.janitor(pool)
    deck.run(janitor, pool, 2400.0)
    assert pool.deleted == 11  # 860 of 1000 GiB down to 750
    assert "hardly any of it became free in 15 minutes: nothing more is deleted" in janitor.trouble


def test_blocks_that_come_minutes_late_cost_no_more_files(deck: Deck) -> None:
    pool = LatePool(deck.clock, late_seconds=300.0)
    deck.run(deck.janitor(pool), pool, 1500.0)
    assert (pool.deleted, pool.used_bytes) == (11, 750 * GIB)


def test_what_is_written_while_blocks_lag_is_made_room_for_and_no_more(deck: Deck) -> None:
    pool = LatePool(deck.clock, late_seconds=300.0, writes=lambda _: 0.02)
    deck.run(deck.janitor(pool), pool, 3600.0)
    # 72 files are written; 86 were there, and 75 to 85 may stay, of which 6 are room that is on its way.
    assert 60 <= pool.left <= 86
    assert deck.top < 0.95


def test_one_that_is_killed_is_followed_by_one_that_knows_what_is_owed(deck: Deck) -> None:
    pool = LatePool(deck.clock, late_seconds=300.0)
    slow = replace(RULES, rates=Rates(0.2, 1000.0 * GIB))
    deck.run(deck.janitor(pool, slow), pool, 20.0)  # and is heard of no more
    assert 1 < pool.deleted < 11
    deck.run(deck.janitor(pool, holder="b"), pool, 1800.0)
    assert pool.deleted == 11


def test_files_that_cant_be_deleted_hold_up_no_others_and_are_told(deck: Deck) -> None:
    pool = LatePool(deck.clock, stuck=frozenset(range(5)))
    janitor = deck.janitor(pool)
    deck.run(janitor, pool, 600.0)
    assert pool.used_bytes <= 800 * GIB
    assert janitor.trouble == "5 files or directories can't be deleted: the file can't be deleted: Permission denied"
    pool.stuck = frozenset()
    pool.writes = lambda _: 0.01
    deck.run(janitor, pool, 3900.0)
    assert janitor.trouble == "", "it tries them again after an hour"


def test_writes_that_are_faster_than_its_rates_are_said(deck: Deck) -> None:
    pool = LatePool(deck.clock, file_bytes=GIB, count=840, writes=lambda _: 1.0)
    deck.run(deck.janitor(pool, replace(RULES, rates=Rates(0.5, 1000.0 * GIB))), pool, 600.0)
    assert any("more is written than TIERDECK_JANITOR_FILES_PER_SECOND" in one for one in deck.troubles)
    assert Outcome.CLEANED not in {run.outcome for run in deck.rounds() if run.deleted_files}


def test_a_folder_is_not_emptied_for_what_others_store_in_its_pool(deck: Deck) -> None:
    pool = LatePool(deck.clock, count=4, others_bytes=820 * GIB)
    janitor = deck.janitor(pool)
    deck.run(janitor, pool, 900.0)
    assert pool.left == 4
    assert "820 GiB of the 1000 GiB in the pool are not this folder's" in janitor.trouble


def test_a_mount_that_goes_away_is_said_at_the_next_look_and_so_is_its_return(deck: Deck) -> None:
    pool, gone = LatePool(deck.clock, count=60), [False]

    def check() -> None:
        if gone[0]:
            raise UsageError("/mnt/pool lies on overlay")

    janitor = deck.janitor(pool, check=check)
    deck.run(janitor, pool, 300.0)
    for is_gone, words in ((True, "/mnt/pool lies on overlay"), (False, "")):
        gone[0] = is_gone
        deck.run(janitor, pool, 2 * LOOK)
        assert janitor.trouble == words
    assert [run.outcome for run in deck.rounds()] == [Outcome.REFUSED, Outcome.NOTHING], "a row when it began"


def test_how_long_the_pool_could_not_be_read_is_known(deck: Deck) -> None:
    class Dead(LatePool):
        def room(self) -> PoolRoom:
            raise UnreachableError("Transport endpoint is not connected")

    pool = Dead(deck.clock)
    janitor = deck.janitor(pool)
    deck.run(janitor, pool, 400.0)
    assert 300.0 < janitor.unread_seconds <= 430.0
    assert "not connected" in janitor.trouble


@pytest.mark.parametrize(
    ("name", "words"),
    [("same", "another janitor (a) has the pool of this name"), ("other", "another janitor (a) cleans this directory")],
)
def test_a_second_janitor_says_who_was_first(deck: Deck, name: str, words: str) -> None:
    first, second = (LatePool(deck.clock, directory="here" if name == "other" else each) for each in "ab")
    one, other = deck.janitor(first, name="same"), deck.janitor(second, holder="b", name=name)
    one.tick()
    deck.run(other, second, 50.0)
    assert words in other.trouble
    assert second.deleted == 0
    one.stop()
    deck.run(other, second, 60.0)
    assert (other.trouble, second.deleted) == ("", 11), "it takes over"


def test_a_walk_that_was_cut_off_tells_nothing_of_what_is_there(deck: Deck) -> None:
    pool = LatePool(deck.clock, count=3000, file_bytes=GIB // 4)
    deck.janitor(pool).tick(is_stopping=lambda: True)
    (one,) = deck.rounds()
    assert (one.outcome, one.files, one.identities) == (Outcome.SHORT, 0, ())
    assert "what is there is not known" in one.words
