"""Which files go: the oldest, as few as will do, never a young one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierdeck.l2.cleaning import CleaningLimits, Marks, Plan, Survey
from tierdeck.l2.janitor_runs import Order
from tierdeck.l2.pool_file import FileKind, PoolFile, PoolRoom

NOW = 10_000.0
MARKS = Marks(high=0.8, low=0.5)
LIMITS = CleaningLimits(grace_seconds=100.0, temporary_seconds=1000.0)


def file(name: str, age: float, size: int = 10, identity: str = "q", *, read_age: float | None = None) -> PoolFile:
    return PoolFile(identity, name, size, NOW - age, NOW - (age if read_age is None else read_age))


def survey(files: Sequence[PoolFile], limits: CleaningLimits = LIMITS) -> Survey:
    found = Survey(limits, NOW)
    for one in files:
        found.add(one)
    return found


def plan(files: Sequence[PoolFile], capacity: float, limits: CleaningLimits = LIMITS) -> Plan:
    found = survey(files, limits)
    return found.plan(PoolRoom(capacity, found.size_bytes), MARKS)


def names(files: Sequence[PoolFile]) -> list[str]:
    return [one.name for one in files]


def test_the_oldest_go_down_to_the_low_water_mark() -> None:
    # 80 of 100 bytes are used, 50 may stay: three files of 10 go.
    files = [file(f"{age}", float(age)) for age in (900, 800, 700, 600, 500, 400, 300, 200)]
    assert names(plan(files, 100).files) == ["900", "800", "700"]
    assert plan(files, 100).size_bytes == 30
    assert plan(files, 160) == Plan((), (), 0, is_enough=True)


def test_what_was_read_is_younger_than_what_was_only_written() -> None:
    files = [file("read", 900, read_age=150), file("a", 800), file("b", 700), file("c", 600)]
    # 40 of 60 used, 30 may stay: one goes, and not the one that was written first.
    assert names(plan(files, 60).files) == ["a"]
    assert survey(files).order is Order.READ
    assert survey(files[1:]).order is Order.WRITTEN


def test_within_its_grace_nothing_goes_and_that_is_told() -> None:
    files = [file("young", 99), file("young too", 50), file("old", 101)]
    found = plan(files, 30)  # 30 used, 15 may stay: 15 are wanted, and 10 can be had
    assert (names(found.files), found.is_enough) == (["old"], False)


def test_one_round_deletes_only_so_many_and_these_are_the_oldest() -> None:
    files = [file(f"{age}", float(age)) for age in (200, 900, 300, 800, 400, 700)]
    found = plan(files, 60, replace(LIMITS, most_files=2))
    assert (names(found.files), found.is_enough) == (["900", "800"], False)


def test_orphans_count_towards_what_one_round_deletes() -> None:
    orphans = [replace(file(f"o{age}", float(age), 1), kind=FileKind.TEMPORARY) for age in (3000, 2000)]
    files = [file(f"{age}", float(age)) for age in (900, 800, 700)]
    found = plan([*orphans, *files], 20, replace(LIMITS, most_files=3))
    assert (len(found.temporary), names(found.files)) == (2, ["900"])


def test_what_could_not_be_deleted_is_counted_and_not_chosen() -> None:
    files = [file("a", 900), file("b", 800), file("c", 700, identity="theirs"), file("d", 600)]
    found = Survey(LIMITS, NOW, {"q/a", "theirs"})
    for one in files:
        found.add(one)
    assert names(found.plan(PoolRoom(40, 40), MARKS).files) == ["b", "d"]
    assert found.size_bytes == 40


def test_shares_are_of_one_whole() -> None:
    assert CleaningLimits(shares={"a": 0.7, "b": 0.3}).shares
    with pytest.raises(ValueError, match="more than the whole pool"):
        CleaningLimits(shares={"a": 0.9, "b": 0.9})


def test_orphaned_temporary_files_go_whatever_room_there_is() -> None:
    orphan = replace(file("orphan", 2000), kind=FileKind.TEMPORARY)
    written = replace(file("being written", 500), kind=FileKind.TEMPORARY)
    found = plan([orphan, written, file("a", 900)], 1000)
    assert (names(found.temporary), found.files, found.size_bytes) == (["orphan"], (), 10)


def test_an_orphans_room_counts() -> None:
    orphan = replace(file("orphan", 2000, 20), kind=FileKind.TEMPORARY)
    files = [orphan, *(file(f"{age}", float(age)) for age in (900, 800, 700, 600))]
    found = survey(files)
    # With the orphan 60 of 80 are used, 40 may stay: it alone makes the 20.
    assert found.plan(PoolRoom(80, 60), MARKS).files == ()


def test_an_identity_above_its_share_pays_first() -> None:
    mine = [file(f"m{age}", float(age), identity="mine") for age in (950, 940, 930)]
    theirs = [file(f"t{age}", float(age), identity="theirs") for age in (500, 400, 300, 200, 150)]
    limits = replace(LIMITS, shares={"theirs": 0.4})
    # 80 of 100 used, 30 are to go. `theirs` has 50 and may have 40: its oldest goes, then the oldest of all.
    assert names(plan([*mine, *theirs], 100, limits).files) == ["t500", "m950", "m940"]
    assert names(plan([*mine, *theirs], 100).files) == ["m950", "m940", "m930"]


def test_a_share_costs_nobody_anything_while_there_is_room() -> None:
    files = [file(f"{age}", float(age)) for age in (500, 400)]
    assert plan(files, 100, replace(LIMITS, shares={"q": 0.1})).files == ()


def test_what_was_found_is_told_by_identity_with_what_went() -> None:
    files = [file("a", 900), file("b", 300), file("c", 200, 5, "other")]
    found = survey(files)
    first, second = found.parts([files[0]])
    assert (first.identity, first.files, first.size_bytes, first.deleted_files, first.deleted_bytes) == (
        "q",
        2,
        20,
        1,
        10,
    )
    assert (second.identity, second.size_bytes, second.last_used_at) == ("other", 5, NOW - 200)


def test_what_is_not_lmcaches_is_counted_and_named() -> None:
    found = survey([replace(file(f"f{number}", 900), kind=FileKind.FOREIGN) for number in range(7)])
    assert (found.foreign, len(found.named_foreign), found.files) == (7, 5, 0)


@pytest.mark.parametrize(("high", "low"), [(0.5, 0.5), (0.5, 0.6), (1.1, 0.5), (0.5, 0.0)])
def test_marks_are_in_order(high: float, low: float) -> None:
    with pytest.raises(ValueError, match="low-water mark"):
        Marks(high, low)


def test_cleaning_begins_early_enough_for_what_is_written_meanwhile() -> None:
    room = PoolRoom(1000, 700)
    # Until room is made 99 bytes are written: 700 + 99 < 800; with 100 the mark would be reached.
    assert not MARKS.is_reached(room, 99)
    assert MARKS.is_reached(room, 100)
    assert MARKS.to_free(room, 100) == 200  # down to 500, as ever


def test_where_much_is_written_it_cleans_below_the_low_water_mark() -> None:
    # 400 bytes come meanwhile: it begins at 800 − 400 = 400, below the low mark of 500, and goes (800 − 500) / 2 below.
    assert MARKS.to_free(PoolRoom(1000, 400), 400) == 150
    assert MARKS.to_free(PoolRoom(1000, 300), 5000) == 300  # never below nothing


sizes = st.integers(1, 50)
ages = st.integers(0, 2000).map(float)
some_files = st.lists(st.tuples(ages, sizes, st.sampled_from(["q", "other"])), max_size=40).map(
    lambda rows: [file(f"{number}", age, size, identity) for number, (age, size, identity) in enumerate(rows)]
)


@settings(max_examples=150, deadline=None)
@given(some_files, st.integers(1, 1500), st.randoms(use_true_random=False))
def test_no_more_goes_than_needed_oldest_first_and_once_is_enough(files: list[PoolFile], capacity: int, random) -> None:  # type: ignore[no-untyped-def]
    found = plan(files, capacity)
    used, gone = sum(one.size_bytes for one in files), set(found.files)
    to_free = used - round(MARKS.low * capacity)
    assert all(NOW - one.used_at > LIMITS.grace_seconds for one in gone)
    if gone:
        assert found.size_bytes - found.files[-1].size_bytes < to_free, "the last one was needed"
    left = [one for one in files if one not in gone and NOW - one.used_at > LIMITS.grace_seconds]
    assert not left or not gone or min(one.used_at for one in left) >= max(one.used_at for one in gone)
    assert found.is_enough or not left
    shuffled = random.sample(files, len(files))
    assert plan(shuffled, capacity) == found, "whatever order they are found in"
    if found.is_enough:
        kept = [one for one in files if one not in gone]
        assert plan(kept, capacity).files == (), "plan twice = plan once"


@settings(max_examples=100, deadline=None)
@given(some_files, st.integers(50, 1500), st.floats(0.05, 0.9))
def test_one_within_its_share_pays_only_when_the_others_excess_is_gone(
    files: list[PoolFile], capacity: int, share: float
) -> None:
    limits = CleaningLimits(grace_seconds=0.0, shares={"q": share})
    found = survey(files, limits)
    chosen = found.plan(PoolRoom(capacity, max(found.size_bytes, 1)), MARKS)
    of = {one: sum(each.size_bytes for each in files if each.identity == one) for one in ("q", "other")}
    gone = {one: sum(each.size_bytes for each in chosen.files if each.identity == one) for one in of}
    eligible = [one for one in files if one.used_at < NOW]
    q_left = of["q"] - gone["q"]
    if gone["other"] and any(one.identity == "q" and one not in chosen.files for one in eligible):
        assert q_left <= share * capacity + 1
