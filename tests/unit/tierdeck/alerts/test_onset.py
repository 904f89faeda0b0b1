"""When a ratio began to be lower."""

from __future__ import annotations

import random

import pytest

from tierdeck.alerts.onset import Counted, onset


def minutes(ratios: list[float], tokens: float = 1000.0) -> list[Counted]:
    return [Counted(60.0 * number, ratio * tokens, tokens) for number, ratio in enumerate(ratios)]


@pytest.mark.parametrize("number", [10, 30, 50])
def test_it_is_the_first_minute_of_the_lower_level_through_noise(number: int) -> None:
    noise = random.Random(number)
    ratios = [(0.78 if at < number else 0.53) + noise.gauss(0, 0.03) for at in range(60)]
    assert onset(minutes(ratios), 60.0 * 60) == 60.0 * number


def test_it_is_no_later_than_the_alert() -> None:
    found = onset(minutes([0.8] * 20 + [0.6] * 10 + [0.1] * 20), 60.0 * 25)
    assert found is not None
    assert found <= 60.0 * 25


def test_a_minute_with_little_traffic_is_no_onset() -> None:
    rows = minutes([0.8] * 20 + [0.5] * 20)
    rows[8] = Counted(rows[8].at, 0.0, 1.0)
    assert onset(rows, 3600.0) == 1200.0


def test_there_is_none_where_nothing_fell() -> None:
    assert onset(minutes([0.8] * 30), 3600.0) is None
    assert onset(minutes([0.5] * 15 + [0.8] * 15), 3600.0) is None
    assert onset([], 3600.0) is None
