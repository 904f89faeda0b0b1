"""When a pool is full: at the pace of its last hour, where there is one."""

from __future__ import annotations

import pytest

from tierdeck.l2.fill import RoomAt, fill_of, full_words, hours_words, is_full


def past(minutes: int, per_minute: float, capacity: float = 1000.0, available: float = 400.0) -> list[RoomAt]:
    """A reading a minute, the last of which has that much room."""
    return [(60.0 * at, (capacity, available + per_minute * (minutes - at))) for at in range(minutes + 1)]


def test_a_pool_that_fills_is_full_when_its_room_is_gone_at_that_pace() -> None:
    # 1 byte a minute over 30 minutes: 400 bytes last 400 minutes = 24,000 s; 30 bytes are 3 % of the capacity
    fill = fill_of(past(30, 1.0))
    assert fill.pace.value == pytest.approx(1 / 60)
    assert fill.left_seconds.value == pytest.approx(24_000)
    assert fill.is_losing


def test_too_short_a_past_or_another_capacity_tells_no_pace() -> None:
    assert fill_of(past(14, 1.0)).left_seconds.reason == "less than 15 minutes of its past are known"
    resized = [*past(30, 1.0), (1860.0, (2000.0, 1400.0))]
    assert fill_of(resized).pace.reason == "its capacity changed within the hour"
    assert not fill_of(resized).is_losing


def test_a_pool_whose_room_grows_or_that_is_kept_at_its_brim_is_not_losing() -> None:
    grows = fill_of(past(30, -1.0))
    assert (grows.left_seconds.reason, grows.is_losing) == ("its room does not go down", False)
    assert not fill_of(past(30, 0.3)).is_losing  # 9 bytes in half an hour: less than 1 % of 1,000
    # it filled for three quarters of an hour, and has held since
    held = [*past(45, 1.0), *[(60.0 * at, (1000.0, 400.0)) for at in range(46, 61)]]
    assert not fill_of(held).is_losing


@pytest.mark.parametrize(("seconds", "words"), [(0, "0 min"), (719, "12 min"), (7500, "2 h 05 min")])
def test_a_time_to_full_is_told_in_hours_and_minutes(seconds: float, words: str) -> None:
    assert hours_words(seconds) == words


@pytest.mark.parametrize(
    ("free", "live", "is_told"),
    # Each of three workers keeps 128 MiB: 384 MiB.
    [(384.0, 3.0, True), (385.0, 3.0, False), (128.0, None, True), (129.0, None, False), (0.0, 0.0, True)],
)
def test_a_pool_is_full_at_what_its_live_workers_keep(free: float, live: float | None, is_told: bool) -> None:
    assert is_full(free * 2**20, live) is is_told
    assert not is_full(None, live)


def test_why_it_is_full_is_said() -> None:
    assert full_words(0.0, 3.0) == "nothing more can be written"
    assert full_words(300.0 * 2**20, 3.0) == "300 MiB free: each worker keeps its last 128 MiB"
