"""The hit-ratio rules on series worked by hand: no noise, so that every minute is known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tierdeck.alerts.alert import Alert, AlertState, Subject
from tierdeck.alerts.hit_ratio import LEARNING, TOO_LITTLE, HitRatioDetector
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.lives import Lives
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.errors import UsageError

CHAT = Subject("east", "chat")
# Monday, 2026-03-02
MONDAY = 1_772_409_600.0
DAY = 1440
# 1,000 requests of 1,000 tokens a minute: so much traffic that single requests are no matter
TOKENS, REQUESTS = 1_000_000.0, 1000.0


def minute(number: int, points: float, **more: Any) -> Minute:
    made = Minute(MONDAY + 60.0 * number, TOKENS, TOKENS * points / 100.0, REQUESTS, replicas=1, readable=1)
    return replace(made, **more)


class Run:
    """Minutes through detector and lives, as the process does it."""

    def __init__(self, limits: HitRatioLimits | None = None) -> None:
        self.detector = HitRatioDetector(lambda _: limits or HitRatioLimits())
        self.lives = Lives()
        self.seen: dict[str, list[Alert]] = {}
        self.judged: list[Judgement] = []
        self.number = 0

    def go(self, minutes: int, points: float | Callable[[int], float] = 78.0, **more: Any) -> Run:
        """So many minutes; `points` may depend on the minutes since this call."""
        for since in range(minutes):
            now = minute(self.number, points(since) if callable(points) else points, **more)
            scene = Scene(now.at, {CHAT: now}, firing=self.lives.firing)
            self.judged = list(self.detector.judge(scene))
            for alert in self.lives.step(self.judged, now.at + 60.0).alerts:
                self.seen.setdefault(alert.rule, []).append(alert)
            self.number += 1
        return self

    def fired_after(self, rule: str, since: int) -> list[float]:
        """Minutes from minute `since` to each firing of a rule."""
        firsts = dict.fromkeys(alert.fired_at for alert in self.seen.get(rule, []) if alert.fired_at is not None)
        return [(at - MONDAY) / 60.0 - since for at in firsts]

    def said(self, rule: str = "hit_ratio_drop") -> Judgement:
        return next(one for one in self.judged if one.rule == rule)

    @property
    def open(self) -> Iterator[Alert]:
        return (alert for alert in self.lives.open if alert.state is AlertState.FIRING)


@pytest.fixture(scope="module")
def two_days() -> Callable[[], Run]:
    """A run that has seen two days at 78 %."""
    seen = Run().go(2 * DAY)
    return lambda: deepcopy(seen)


def test_a_25_point_drop_fires_when_the_long_window_has_lost_8_points_and_3_minutes_more(
    two_days: Callable[[], Run],
) -> None:
    # 5 minutes of 25 points in 15: 8.33 points. Pending at the end of the fifth, held 3 minutes: 8.
    run = two_days().go(60, 53.0)
    assert run.fired_after("hit_ratio_drop", 2 * DAY) == [8.0]
    (alert,) = (alert for alert in run.open if not alert.suppressed_by)
    assert alert.rule == "hit_ratio_drop"
    assert alert.expected == pytest.approx(0.78)
    assert alert.value == pytest.approx(0.53)
    assert alert.depth == pytest.approx(25.0)
    assert alert.words == "the hit ratio is 53 % of prompt tokens, 25 points below what is usual now"


def test_a_12_point_drop_fires_after_13_minutes(two_days: Callable[[], Run]) -> None:
    # 12 n / 15 ≥ 8 at n = 10; and 3 minutes
    assert two_days().go(60, 66.0).fired_after("hit_ratio_drop", 2 * DAY) == [13.0]


@pytest.mark.parametrize("minutes", [1, 2, 3, 4])
def test_minutes_of_nothing_at_all_are_a_blip(two_days: Callable[[], Run], minutes: int) -> None:
    run = two_days().go(minutes, 0.0).go(60)
    assert not run.fired_after("hit_ratio_drop", 2 * DAY)
    assert not list(run.open)


def test_it_resolves_when_five_minutes_of_the_short_window_are_well(two_days: Callable[[], Run]) -> None:
    run = two_days().go(600, 53.0).go(60)
    done = run.seen["hit_ratio_drop"][-1]
    # within half of 8 points: 25 n / 5 ≤ 4 at n = 0, so that 5 minutes pass; then clear for 300 s
    assert done.resolved_at == MONDAY + 60.0 * (2 * DAY + 600 + 5 + 5)


def test_what_is_wrong_is_not_learnt(two_days: Callable[[], Run]) -> None:
    # all of Wednesday and Thursday at 53 %: still expected at 78 % on Thursday evening
    run = two_days().go(2 * DAY - 10, 53.0)
    assert run.said().expected == pytest.approx(0.78)
    assert len(run.fired_after("hit_ratio_drop", 2 * DAY)) == 1


def test_a_slow_loss_is_a_drift(two_days: Callable[[], Run]) -> None:
    # 7 points: no drop at 8. Above the slack of 4: 3 points × 10 minutes a slot, 240 after 8 slots.
    run = two_days().go(240, 71.0)
    assert not run.fired_after("hit_ratio_drop", 2 * DAY)
    assert run.fired_after("hit_ratio_drift", 2 * DAY) == [81.0]


def test_a_restart_mutes_for_an_hour_and_what_stays_is_said(two_days: Callable[[], Run]) -> None:
    run = two_days().go(1, 53.0, restarts=1).go(57, 53.0)
    assert [alert.suppressed_by for alert in run.open] == ["warming"]
    run.go(10, 53.0)
    assert "" in [alert.suppressed_by for alert in run.open]


def test_a_restart_that_heals_is_not_said(two_days: Callable[[], Run]) -> None:
    run = two_days().go(1, 40.0, restarts=1).go(60, lambda since: 78.0 - 38.0 * 0.5 ** (since / 8.0)).go(120)
    assert not list(run.open)
    assert {alert.suppressed_by for alert in run.seen["hit_ratio_drop"] if alert.fired_at} == {"warming"}


def test_one_that_is_seen_to_heal_is_not_said_either(two_days: Callable[[], Run]) -> None:
    run = two_days().go(60, lambda since: 78.0 - 38.0 * 0.5 ** (since / 8.0)).go(120)
    assert not list(run.open)
    assert {alert.suppressed_by for alert in run.seen["hit_ratio_drop"] if alert.fired_at} == {"recovering"}


def test_one_that_stops_healing_half_way_is_said(two_days: Callable[[], Run]) -> None:
    # up to 20 points below in 20 minutes, and no further
    run = two_days().go(120, lambda since: 78.0 - max(20.0, 40.0 - since))
    assert [alert.suppressed_by for alert in run.open if alert.rule == "hit_ratio_drop"] == [""]


def test_an_endpoint_that_restarts_for_ever_is_not_muted_for_ever(two_days: Callable[[], Run]) -> None:
    run = two_days()
    for _ in range(20):
        run.go(1, 53.0, restarts=1).go(14, 53.0)
    assert [alert.suppressed_by for alert in run.open if alert.rule == "hit_ratio_drop"] == [""]


def test_a_counter_that_means_something_else_makes_what_was_usual_void(two_days: Callable[[], Run]) -> None:
    run = two_days().go(1, 53.0, is_restated=True, is_changed=True).go(DAY, 53.0)
    assert not run.seen.get("hit_ratio_drop")


def test_what_came_with_a_change_and_stays_is_usual_a_day_later(two_days: Callable[[], Run]) -> None:
    run = two_days().go(1, 53.0, is_changed=True).go(DAY - 2, 53.0)
    assert "" in [alert.suppressed_by for alert in run.open]
    run.go(60, 53.0)
    assert not list(run.open)
    # and a loss from there is one again: one day is known, so that 9 points make it: 25 n / 15 ≥ 9 at n = 6
    assert run.go(30, 28.0).fired_after("hit_ratio_drop", 3 * DAY + 59)[-1] == 9.0


def test_an_alert_remembers_the_change_that_its_loss_came_with(two_days: Callable[[], Run]) -> None:
    changed = MONDAY + 2 * DAY * 60.0
    run = two_days().go(1, 53.0, is_changed=True).go(60, 53.0)
    (drop,) = [alert for alert in run.open if alert.rule == "hit_ratio_drop"]
    assert (drop.changed_at, drop.usual_from) == (changed, changed)
    plain = two_days().go(60, 53.0)
    assert {alert.changed_at for alert in plain.open} == {None}


def test_what_somebody_acknowledged_and_stays_is_usual_a_day_later(two_days: Callable[[], Run]) -> None:
    run = two_days().go(60, 53.0)
    run.detector.accept(CHAT, MONDAY + 60.0 * run.number)
    assert list(run.go(DAY - 5, 53.0).open)
    # the drop that spoke for it is gone first; the drift asks for 40 minutes of the new level, and 15 of looking well
    assert not list(run.go(90, 53.0).open)


def test_an_acknowledgement_does_not_outlive_its_alert(two_days: Callable[[], Run]) -> None:
    run = two_days().go(60, 53.0)
    run.detector.accept(CHAT, MONDAY + 60.0 * run.number)
    run.go(2 * DAY).go(120, 53.0)
    assert list(run.open)


def test_too_little_traffic_is_said_and_never_bad() -> None:
    run = Run()
    for number in range(2 * DAY):
        # 5 requests an hour, none of which hits
        busy = number % 12 == 0
        run.number = number
        run.go(1, 0.0, prompt_tokens=5000.0 * busy, hit_tokens=0.0, requests=1.0 * busy)
        assert run.said().is_bad is None
        assert run.said().words == TOO_LITTLE


def test_one_burst_is_one_event(two_days: Callable[[], Run]) -> None:
    """A thousand requests of one minute have too much in common to tell anything."""
    run = two_days().go(120, prompt_tokens=0.0, hit_tokens=0.0, requests=0.0).go(1, 0.0)
    assert run.said().words == TOO_LITTLE


def test_before_an_hour_is_known_nothing_is_usual() -> None:
    run = Run().go(60)
    assert (run.said().is_bad, run.said().words) == (None, LEARNING)
    # six slots of ten minutes, the last of which is learnt 20 minutes after its end; then most of a window
    assert Run().go(80).said().words == LEARNING
    assert Run().go(90).said().is_bad is False


def test_a_minute_of_which_nothing_is_known_leaves_everything_as_it_is(two_days: Callable[[], Run]) -> None:
    run = two_days().go(30, 53.0)
    before = list(run.open)
    run.detector.judge(Scene(MONDAY + 60.0 * run.number, {CHAT: Minute(MONDAY + 60.0 * run.number)}))
    assert list(run.open) == before


def test_a_floor_is_off_unless_it_is_set_and_then_holds_from_the_first_hour() -> None:
    assert "hit_ratio_floor" not in {one.rule for one in Run().go(30).judged}
    run = Run(HitRatioLimits(floor=0.6)).go(30, 55.0)
    judged = run.said("hit_ratio_floor")
    assert judged.is_bad
    assert judged.depth == pytest.approx(5.0)
    assert [alert.rule for alert in run.open] == ["hit_ratio_floor"]
    run.go(30, 61.0)
    assert not list(run.open)


@pytest.mark.parametrize("limits", [{"floor": 60.0}, {"least_requests": 0.0}, {"drop_points": -1.0}])
def test_refuses_limits_that_make_no_sense(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        HitRatioLimits(**limits)


def test_a_tier_that_serves_much_less_is_told_while_those_below_make_up_for_it() -> None:
    def shares(l0: float) -> dict[str, float]:
        return {"l0": TOKENS * l0, "l1": TOKENS * (0.78 - l0), "l2": 0.0}

    run = Run().go(2 * DAY, **shares(0.6)).go(60, **shares(0.3))
    (alert,) = run.open
    assert (alert.rule, alert.subject.part) == ("tier_drop", "L0")
    assert alert.depth == pytest.approx(30.0)
    assert alert.words == "L0 serves 30 % of prompt tokens, 30 points below what is usual now"


def test_a_tier_that_takes_the_hit_ratio_down_with_it_is_the_same_trouble() -> None:
    run = Run().go(2 * DAY, l0=TOKENS * 0.6).go(60, 48.0, l0=TOKENS * 0.3)
    said = {alert.rule: alert.suppressed_by for alert in run.open}
    assert (said["hit_ratio_drop"], said["tier_drop"]) == ("", "hit_ratio_drop")


@pytest.mark.parametrize("days", [2, 14])
def test_history_teaches_a_new_process(days: int) -> None:
    detector = HitRatioDetector()
    for slot in range(days * 144):
        hits = {"": 7_800_000.0, "L0": 6_000_000.0}
        age = 600.0 * (days * 144 - slot)
        detector.learn(CHAT, MONDAY + 600.0 * slot, age, (10_000.0, 10_000_000.0), hits)
    run = Run()
    run.detector, run.number = detector, days * DAY
    assert run.go(60, 53.0).fired_after("hit_ratio_drop", days * DAY) == [pytest.approx(8.0, abs=2.0)]
