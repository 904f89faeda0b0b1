"""What the ratio's detector knows after a start: usual levels, without losses, but with those that were accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.learning import _accepted_at, learn
from db import Store
from tests.support.rounds import T0, a_round, ledger
from tests.unit.tierdeck.alerts.scenes import CHAT
from tierdeck.account import WarmingLimits
from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState
from tierdeck.alerts.hit_ratio import HitRatioDetector
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import HIT_RATIO_DROP

DAY, SLOT = 86400.0, 600.0
BEGIN = T0 // DAY * DAY
DROPPED_AT, END = BEGIN + 2 * DAY, BEGIN + 3.5 * DAY
USUAL, LOW = 0.78, 0.53


@pytest.fixture
def lived(store: Store) -> Store:
    """Two days as usual, and a loss that still stands a day and a half later."""
    rounds = []
    for number in range(round((END - BEGIN) / SLOT)):
        at = BEGIN + SLOT * number + 300
        share = USUAL if at < DROPPED_AT else LOW
        hits = {"l0_hits": 200_000 * share, "external_queries": 1000.0, "external_hits": 0.0, "requests": 400.0}
        rounds.append(a_round(at, counts=ledger(at, 200_000.0, **hits)))
    store.append(rounds)
    store.rollup_range(BEGIN, END, WarmingLimits())
    return store


def loss(store: Store) -> Alert:
    at = DROPPED_AT + 480
    alert = Alert(HIT_RATIO_DROP.name, CHAT, AlertState.FIRING, HIT_RATIO_DROP.severity, DROPPED_AT, fired_at=at)
    return store.save_alerts([alert], [], at)[0]


def is_bad_now(store: Store) -> bool:
    """Whether the level of the loss is one, to a process that starts."""
    detector = HitRatioDetector()
    learn(store, detector, CHAT.cluster, END)
    said = []
    for number in range(20):
        at = END + 60.0 * number
        minute = Minute(at, 20_000.0, 20_000.0 * LOW, 40.0, replicas=1, readable=1)
        said += [one.is_bad for one in detector.judge(Scene(at, {CHAT: minute})) if one.rule == HIT_RATIO_DROP.name]
    return said[-1] is True


def test_a_loss_is_not_learnt_while_its_alert_stands(lived: Store) -> None:
    loss(lived)
    assert is_bad_now(lived)


def test_a_loss_that_was_accepted_long_ago_is_what_is_usual(lived: Store) -> None:
    alert = loss(lived)
    lived.acknowledge(alert.id, Acknowledgement("ada", DROPPED_AT + 600, "new prompts"))
    assert not is_bad_now(lived)


def test_one_that_was_accepted_just_now_is_still_a_loss(lived: Store) -> None:
    alert = loss(lived)
    lived.acknowledge(alert.id, Acknowledgement("ada", END - 3600, "looking at it"))
    assert is_bad_now(lived)


def test_one_that_came_with_a_change_long_ago_is_what_is_usual_also_to_a_process_that_is_started_again(
    lived: Store,
) -> None:
    alert = loss(lived)
    lived.save_alerts([replace(alert, changed_at=DROPPED_AT - 300)], [], DROPPED_AT + 500)
    assert not is_bad_now(lived)


def test_one_that_resolved_before_its_day_was_over_was_no_new_usual(lived: Store) -> None:
    alert = replace(loss(lived), changed_at=DROPPED_AT - 300)
    lived.save_alerts([replace(alert, state=AlertState.RESOLVED, resolved_at=DROPPED_AT + 3600)], [], END)
    assert alert.usual_from == DROPPED_AT - 300
    assert _accepted_at(lived.alerts(BEGIN, END)[0], END) is None


def test_nothing_counts_from_before_a_counter_meant_something_else(lived: Store) -> None:
    lived.note_restated(CHAT.cluster, CHAT.endpoint, DROPPED_AT)
    lived.note_restated(CHAT.cluster, CHAT.endpoint, DROPPED_AT - 600)
    lived.note_restated("west", CHAT.endpoint, END)
    assert lived.restated(CHAT.cluster) == {(CHAT.cluster, CHAT.endpoint): DROPPED_AT}, "the latest one"
    assert not is_bad_now(lived)
