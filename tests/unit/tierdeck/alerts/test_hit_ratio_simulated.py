"""The simulations of `make bench alerts`, with a seed or two: what is caught, when, and what stays quiet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.alert_simulations import (
    BLIP,
    DROP_12,
    DROP_25,
    HEALS,
    HEALS_UNSEEN,
    IDLE,
    NOTHING,
    SLIDE,
    WEEK,
    Scenario,
    outcome,
)
from tests.support.hit_series import Endpoint, csv_lines, rows, step_down
from tierdeck.alerts.backtest import backtest, document, read_minutes


@pytest.mark.parametrize(
    ("scenario", "most_minutes"), [(DROP_25, 10.0), (DROP_12, 20.0), (SLIDE, 240.0)], ids=lambda one: str(one)[:40]
)
def test_catches_a_loss_in_time_and_says_nothing_else(scenario: Scenario, most_minutes: float) -> None:
    found = outcome(scenario, 1)
    assert found.delay is not None
    assert found.delay <= most_minutes
    assert found.false == 0
    assert found.fixed_delay is None


@pytest.mark.parametrize("scenario", [BLIP, NOTHING, IDLE, HEALS, HEALS_UNSEEN, WEEK], ids=lambda one: one.name)
def test_says_nothing_of_what_is_nothing(scenario: Scenario) -> None:
    found = outcome(scenario, 2)
    assert (found.delay, found.false) == (None, 0)


def test_the_same_file_gives_the_same_alerts() -> None:
    lines = list(csv_lines(rows(replace(DROP_25.endpoint, days=4), 5, step_down(3 * 1440, 25.0, 90))))
    once = document(backtest(read_minutes(lines)))
    assert once == document(backtest(read_minutes(lines)))
    assert once["alerts"]


def test_a_loss_on_the_second_day_is_caught_though_one_day_is_known() -> None:
    # the evening of the second day: 1440 + 1080 minutes in; seen within 15 minutes of 25 points
    found = backtest(read_minutes(csv_lines(rows(Endpoint(days=2), 6, step_down(2520, 25.0, 360)))))
    began = 1_772_409_600.0 + 60.0 * 2520
    fired = [one.alert.fired_at for one in found.fired if not one.suppressed_by]
    assert len(fired) == 1
    assert fired[0] is not None
    assert 0 < fired[0] - began <= 900.0


def test_a_loss_in_the_first_weekend_is_caught_though_weekends_have_a_level_of_their_own() -> None:
    # Friday first; Saturday is 12 points lower all day, and 25 lower still from 14:00 on
    made = rows(Endpoint(days=2, first_day=4, weekend=-12.0), 7, step_down(1440 + 840, 25.0, 600))
    found = backtest(read_minutes(csv_lines(made)))
    fired = [one.alert for one in found.fired if not one.suppressed_by]
    assert [alert.rule for alert in fired] == ["hit_ratio_drop"]
    assert fired[0].pending_at >= 1_772_409_600.0 + 4 * 86400.0 + 60.0 * (1440 + 840)
