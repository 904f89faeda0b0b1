"""One minute after the other: alerts live on, end with their subject, and are explained once and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alerting.judge import MINUTE, Judge, wants_causes
from tests.unit.tierdeck.alerts.scenes import CHAT, START
from tierdeck.alerts.alert import Alert, AlertState, FoundCause, Subject
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import NO_DATA, TIER_DROP


class Scripted:
    """Says what it was given, minute by minute; and what it was told fires."""

    def __init__(self, rule: str, said: Iterable[bool | None]) -> None:
        self._rule = rule
        self._said = iter(said)
        self.firing: list[frozenset[tuple[str, Subject]]] = []

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self.firing.append(scene.firing)
        is_bad = next(self._said)
        for subject in scene.minutes:
            yield Judgement(self._rule, subject, is_bad, is_clear=is_bad is False, words="so it is")


def scene(number: int, *subjects: Subject) -> Scene:
    at = START + MINUTE * number
    return Scene(at, {subject: Minute(at=at, replicas=1) for subject in subjects})


def play(judge: Judge, minutes: int, *subjects: Subject) -> list[list[Alert]]:
    return [judge.step(scene(number, *subjects)) for number in range(minutes)]


def test_from_pending_to_resolved_each_step_is_told_once() -> None:
    detector = Scripted(NO_DATA.name, [True] * 8 + [False] * 4)
    steps = play(Judge([detector]), 12, CHAT)
    states = [[alert.state for alert in changed] for changed in steps]
    assert states[0] == [AlertState.PENDING]
    assert states[5] == [AlertState.FIRING], "after the five minutes of its rule"
    assert [state for changed in states for state in changed].count(AlertState.RESOLVED) == 1
    assert any(detector.firing), "detectors are told what fires"


def test_what_passes_before_it_fires_ends_and_is_told_as_ended() -> None:
    judge = Judge([Scripted(NO_DATA.name, [True, False, False])])
    steps = play(judge, 3, CHAT)
    assert [alert.state for alert in steps[1]] == [AlertState.RESOLVED]
    assert steps[1][0].fired_at is None
    assert steps[2] == []
    assert judge.lives.open == []


def test_an_endpoint_that_is_gone_takes_its_alerts_along() -> None:
    judge = Judge([Scripted(NO_DATA.name, [True] * 9)])
    play(judge, 7, CHAT)
    (ended,) = judge.step(scene(7))
    assert ended.state is AlertState.RESOLVED
    assert ended.evidence["over_because"] == "the endpoint is gone"


def test_a_rule_that_was_switched_off_says_no_more() -> None:
    fired = Judge([Scripted(NO_DATA.name, [True] * 7)])
    play(fired, 7, CHAT)
    judge = Judge([Scripted(NO_DATA.name, [True])], fired.lives.open, is_on=lambda rule, subject: False)
    (ended,) = judge.step(scene(8, CHAT))
    assert ended.state is AlertState.RESOLVED


def test_a_minute_that_is_only_remembered_changes_nothing() -> None:
    judge = Judge([Scripted(NO_DATA.name, [True] * 9)])
    for number in range(9):
        judge.remember(scene(number, CHAT))
    assert judge.lives.open == []


def test_one_told_apart_leaves_the_others_as_they_are() -> None:
    judge = Judge([Scripted(NO_DATA.name, [True] * 7)])
    play(judge, 7, CHAT)
    (new,) = judge.tell(Judgement(TIER_DROP.name, CHAT, True), START + 7 * MINUTE)
    assert (new.rule, new.state) == (TIER_DROP.name, AlertState.PENDING)
    assert {alert.rule for alert in judge.lives.open} == {NO_DATA.name, TIER_DROP.name}


def test_causes_are_looked_for_at_once_and_again_when_more_can_be_seen() -> None:
    alert = Alert(NO_DATA.name, CHAT, AlertState.FIRING, NO_DATA.severity, START, fired_at=START)
    assert wants_causes(alert, START)
    known = replace(alert, causes=(FoundCause("restart", "it restarted", "so it says"),))
    assert not wants_causes(known, START + 240)
    assert wants_causes(known, START + 300)
    assert not wants_causes(replace(known, state=AlertState.RESOLVED), START + 300)


def firing(rule: str, subject: Subject = CHAT) -> Alert:
    return Alert(rule, subject, AlertState.FIRING, NO_DATA.severity, START - 600, fired_at=START - 300)


class Silent:
    """Judges nothing."""

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        return ()


def test_a_limit_that_is_no_longer_set_ends_its_alert() -> None:
    judge = Judge([Silent()], [firing("hit_ratio_floor")])
    (ended,) = judge.step(scene(0, CHAT))
    assert (ended.state, ended.evidence["over_because"]) == (AlertState.RESOLVED, "its limit is no longer set")


def test_a_pool_that_is_read_no_more_fires_for_a_quarter_of_an_hour_and_not_for_ever() -> None:
    judge = Judge([Silent()], [firing("pool_full", Subject("east", "_pool", "nvme"))])
    steps = play(judge, 20, CHAT)
    ended = [number for number, changed in enumerate(steps) if changed]
    assert ended == [16]
    assert steps[16][0].evidence["over_because"] == "nothing has told of it for 16 min"


def test_what_can_not_be_judged_for_hours_ends() -> None:
    judge = Judge([Scripted(NO_DATA.name, [None] * 400)], [firing(NO_DATA.name)])
    steps = play(judge, 400, CHAT)
    ended = [number for number, changed in enumerate(steps) for alert in changed if not alert.is_open]
    assert ended == [361]


def test_a_rule_that_is_off_is_not_told_elsewhere_either() -> None:
    judge = Judge([], is_on=lambda rule, subject: False)
    assert judge.tell(Judgement(TIER_DROP.name, CHAT, True), START) == []
