"""Each fault and change of the lab raises the one alert that it should, with its cause, and it resolves; or none."""

from __future__ import annotations

import pytest

from db import Store
from lab.sim.expected_alerts import OF_CHANGES, OF_FAULTS, Expected, Quiet, Raises
from lab.sim.fleet import Fleet
from tests.integration.alert_cases import PEACEFUL, RAISING
from tests.integration.cause_fleet import SINGLE
from tests.support.simulated_deck import SimulatedDeck
from tests.support.stores import Sqlite
from tests.support.watched_deck import BEGIN, Watched, usual
from tierdeck.account import WarmingLimits
from tierdeck.alerts.alert import AlertState
from tierdeck.alerts.notice import NoticeKind

EXPECTED: dict[str, Expected] = {**OF_FAULTS, **OF_CHANGES}


def test_every_fault_and_change_is_tried_for_what_is_expected_of_it() -> None:
    assert RAISING.keys() == {name for name, one in EXPECTED.items() if isinstance(one, Raises)}
    quiet = {name for peace in PEACEFUL.values() for name in peace.switches}
    assert quiet == {name for name, one in EXPECTED.items() if isinstance(one, Quiet)}


@pytest.mark.parametrize("name", RAISING)
def test_a_fault_raises_one_alert_that_names_its_cause_and_resolves(sqlite: Sqlite, name: str) -> None:
    case, expected = RAISING[name], EXPECTED[name]
    assert isinstance(expected, Raises)
    with Store.open(sqlite.migrated()) as store:
        watched = usual(case.spec, store, case.limits)
        watched.run(5)
        assert watched.said() == []
        case.switch.on(watched.deck)
        watched.run(case.minutes)
        (alert,) = watched.said()
        assert (alert.rule, alert.state) == (expected.rule.name, AlertState.FIRING)
        assert alert.causes[0].name == expected.cause, [cause.words for cause in alert.causes]
        case.switch.off(watched.deck)
        watched.run(case.after)
        (after,) = watched.said()
        assert (after.id, after.state) == (alert.id, AlertState.RESOLVED)
        kinds = [one.kind for one in store.notices(alert_id=alert.id)]
        assert sorted(kinds) == [NoticeKind.FIRING, NoticeKind.RESOLVED]


@pytest.mark.parametrize("group", PEACEFUL)
def test_what_heals_itself_or_breaks_nothing_is_quiet(sqlite: Sqlite, group: str) -> None:
    peace = PEACEFUL[group]
    with Store.open(sqlite.migrated()) as store:
        watched = usual(peace.spec, store)
        watched.run(5)
        for name, switch in peace.switches.items():
            for act, minutes in ((switch.on, peace.minutes), (switch.off, peace.after)):
                act(watched.deck)
                watched.run(minutes)
                assert [(name, alert.rule, alert.words) for alert in watched.said()] == []


def test_figures_that_stop_coming_are_said_once_also_by_the_next_process(sqlite: Sqlite) -> None:
    with Store.open(sqlite.migrated()) as store:
        fleet = Fleet(SINGLE, 1, BEGIN - 900.0)
        deck = SimulatedDeck(fleet, store)
        deck.run(1200.0)
        first = Watched(deck)
        first.run(3)
        silent_at = deck.now + 25
        for seconds in (0.0, 200.0, 330.0, 360.0):
            first.alerting.tick(silent_at + seconds)
        assert [alert.rule for alert in first.said()] == ["deck_stale"]
        second = Watched(deck)
        second.alerting.tick(silent_at + 400.0)  # within the lease of the first: it waits
        second.alerting.tick(silent_at + 440.0)
        assert second.alerting.trouble == ""
        deck.fleet.advance(480.0)
        second.run(8)
        (alert,) = second.said()
        assert (alert.rule, alert.state) == ("deck_stale", AlertState.RESOLVED)


def test_the_collectors_of_another_cluster_hide_no_silence(sqlite: Sqlite) -> None:
    with Store.open(sqlite.migrated()) as store:
        deck = SimulatedDeck(Fleet(SINGLE, 1, BEGIN - 900.0), store)
        deck.run(1200.0)
        watched = Watched(deck)
        watched.run(3)
        for minute in range(1, 9):
            store.rollup(deck.now + 60.0 * minute + 25, WarmingLimits())  # somebody else's rounds go on
            watched.alerting.tick(deck.now + 60.0 * minute + 25)
        assert [alert.rule for alert in watched.said()] == ["deck_stale"], "and not every endpoint's silence"
