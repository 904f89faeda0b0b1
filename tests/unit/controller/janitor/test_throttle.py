"""How fast files may go."""

import pytest

from controller.janitor.throttle import Rates, Throttle


def went(throttle: Throttle, sizes: list[int]) -> int:
    count = 0
    for size in sizes:
        if not throttle.take(size):
            break
        count += 1
    return count


def test_so_many_files_a_second() -> None:
    throttle = Throttle(Rates(files=10, size_bytes=1e9), 0.0)
    throttle.refill(0.5)
    assert went(throttle, [1] * 100) == 6  # one at the beginning, and half a second's 5
    throttle.refill(1.0)
    assert went(throttle, [1] * 100) == 5


def test_so_many_bytes_a_second() -> None:
    throttle = Throttle(Rates(files=1000, size_bytes=100), 0.0)
    throttle.refill(1.0)
    assert went(throttle, [30] * 10) == 3  # 90 of 100 bytes


def test_what_was_not_used_for_a_second_is_lost() -> None:
    throttle = Throttle(Rates(files=10, size_bytes=1e9), 0.0)
    throttle.refill(3600.0)
    assert went(throttle, [1] * 100) == 10


def test_a_file_larger_than_a_seconds_worth_goes_and_is_waited_for() -> None:
    throttle = Throttle(Rates(files=10, size_bytes=100), 0.0)
    throttle.refill(1.0)
    assert went(throttle, [250, 1]) == 1
    throttle.refill(2.5)  # −150 and 150 more: nothing yet
    assert went(throttle, [1]) == 0
    throttle.refill(3.5)
    assert went(throttle, [100]) == 1


def test_a_clock_that_goes_back_gives_nothing() -> None:
    throttle = Throttle(Rates(files=10, size_bytes=1e9), 100.0)
    assert went(throttle, [0]) == 1
    throttle.refill(50.0)
    assert went(throttle, [0]) == 0


def test_slow_rates_still_go_on() -> None:
    throttle = Throttle(Rates(files=0.1, size_bytes=1e9), 0.0)
    for second in range(1, 11):
        throttle.refill(float(second))
    assert went(throttle, [1, 1]) == 1
    with pytest.raises(ValueError, match="above 0"):
        Rates(files=0)
