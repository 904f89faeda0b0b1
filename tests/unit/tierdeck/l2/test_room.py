"""How long room lasts, and whether a time to live can hold a pool."""

import pytest

from tierdeck.l2.pool_file import PoolRoom
from tierdeck.l2.room import OTHER_WAYS, Look, Pace, advice, lasting, pace
from tierdeck.units import parse_size

GIB, HOUR = float(parse_size("1Gi")), 3600.0


def steady(per_minute: float, minutes: int) -> list[Look]:
    return [Look(60.0 * number, per_minute * number) for number in range(minutes + 1)]


def test_a_steady_pace_has_no_spread() -> None:
    assert pace(steady(600.0, 5)) == Pace(10.0, 0.0, 300.0)  # 600 bytes a minute are 10 a second


def test_a_pace_needs_two_minutes() -> None:
    assert pace([]) is None
    assert pace([Look(0, 0), Look(119, 500)]) is None
    assert pace([Look(0, 0), Look(120, 240)]) == Pace(2.0, 0.0, 120.0)


def test_what_was_deleted_was_written_as_well() -> None:
    looks = [Look(0, 900, 0), Look(60, 960, 0), Look(120, 520, 500), Look(180, 580, 500)]
    # 60 in the first minute; in the second 520 − 960 + 500 = 60; in the third 60: 1 byte a second.
    assert pace(looks) == Pace(1.0, 0.0, 180.0)


def test_the_spread_is_between_minutes() -> None:
    looks = [Look(0, 0), Look(60, 60), Look(120, 240), Look(180, 300), Look(240, 480)]
    found = pace(looks)
    assert found is not None
    # 1, 3, 1 and 3 bytes a second: mean 2, standard deviation 1; busy is 2 + 2 × 1.
    assert (found.mean, found.spread, found.busy) == (2.0, 1.0, 4.0)


def test_a_pool_that_somebody_else_empties_has_no_negative_pace() -> None:
    found = pace([Look(0, 900), Look(60, 600), Look(120, 300)])
    assert found is not None
    assert found.mean == 0.0


def test_time_to_full_at_the_usual_and_at_a_busy_pace() -> None:
    told = lasting(PoolRoom(100 * GIB, 40 * GIB), Pace(GIB / 60, GIB / 60, 600), 0.85)
    assert told.full_in_seconds.value == pytest.approx(3600.0)  # 60 GiB at 1 GiB a minute
    assert told.full_soonest_seconds.value == pytest.approx(1200.0)  # at 3 GiB a minute


def test_a_time_to_live_that_holds_leaves_an_hour_for_the_checker() -> None:
    # 85 GiB at 10 GiB an hour are 8.5 h; less the checker's hour 7.5, in whole hours 7; they keep 70 GiB.
    told = lasting(PoolRoom(100 * GIB, 0.0), Pace(10 * GIB / HOUR, 0.0, 600), 0.85)
    assert (told.can_ttl_hold, told.ttl_hours.value) == (True, 7.0)
    assert told.kept_bytes.value == pytest.approx(70 * GIB)
    quick = lasting(PoolRoom(100 * GIB, 0.0), Pace(10 * GIB / HOUR, 0.0, 600), 0.85, checker_seconds=300.0)
    assert quick.ttl_hours.value == 8.0
    first, *others = advice(told, 0.85)
    assert first.startswith("A time to live of 7 h")
    assert "70 GiB" in first
    assert tuple(others) == OTHER_WAYS


def test_no_time_to_live_holds_a_pool_that_fills_within_two_hours() -> None:
    # 85 GiB at 50 GiB an hour are 1.7 h: less the checker's hour that is no whole hour.
    told = lasting(PoolRoom(100 * GIB, 0.0), Pace(50 * GIB / HOUR, 0.0, 600), 0.85)
    assert told.can_ttl_hold is False
    assert "no time to live in whole hours holds" in told.ttl_hours.reason
    assert told.kept_bytes.value is None
    assert advice(told, 0.85)[0].startswith("A time to live can't hold this pool")


def test_what_is_not_known_has_its_reason() -> None:
    for room, written, why in (
        (None, Pace(1.0, 0.0, 600), "does not tell its room"),
        (PoolRoom(1.0, 0.0), None, "not watched for long enough"),
    ):
        told = lasting(room, written, 0.85)
        assert told.can_ttl_hold is None
        assert why in told.full_in_seconds.reason
        assert why in advice(told, 0.85)[0]


def test_a_pool_that_nobody_writes_to_lasts() -> None:
    told = lasting(PoolRoom(1.0, 0.5), Pace(0.0, 0.0, 600), 0.85)
    assert told.full_in_seconds.reason == "its use does not rise"
    (words,) = advice(told, 0.85)
    assert words.startswith("Its use does not rise: nothing is written just now, or as much goes")
