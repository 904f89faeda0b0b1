"""Each fault of the lab that should raise an alert raises exactly one, with its cause, and it resolves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from alerting.alerting import Alerting, Told
from alerting.notify.configured import configured
from db import Store
from health.pulse import Pulse
from lab.sim.fleet import Fleet
from lab.sim.spec import FleetSpec
from tests.integration.cause_fleet import SINGLE, SPEC
from tests.support.simulated_deck import CLUSTER, SimulatedDeck
from tests.support.stores import Sqlite
from tests.unit.lab_sim.scraping import BEGAN_AT
from tierdeck.account import WarmingLimits
from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.notice import NoticeKind
from tierdeck.settings import Settings

USUAL_MINUTES = 150
"""What is usual has to be known, before anything can be unusual."""
BEGIN = round(BEGAN_AT // 60) * 60.0 + 60.0
SETTINGS = Settings(
    cluster=CLUSTER, scrape_interval_seconds=60, notify_urls="hook=webhook+http://hooks.example/tierdeck"
)

Act = Callable[[SimulatedDeck], None]


@dataclass
class Watched:
    """A deck whose alerts are judged each minute."""

    deck: SimulatedDeck
    alerting: Alerting = field(init=False)

    def __post_init__(self) -> None:
        self.alerting = Alerting(SETTINGS, self.deck.store, Told(ways=configured(SETTINGS)), "1", Pulse())

    def run(self, minutes: int) -> None:
        for _ in range(minutes):
            self.deck.run(60.0)
            self.deck.store.rollup(self.deck.now + 25, WarmingLimits())
            self.alerting.tick(self.deck.now + 25)
            assert self.alerting.trouble == ""

    def said(self) -> list[Alert]:
        """Alerts of which it was said that they fire."""
        store = self.deck.store
        told = {one.alert.id for one in store.notices(1000) if one.kind is NoticeKind.FIRING and one.alert is not None}
        return [one for one in store.alerts(0.0, self.deck.now + 3600) if one.id in told]


def usual(spec: FleetSpec, store: Store) -> Watched:
    """A fleet with hours behind it."""
    fleet = Fleet(spec, 1, BEGIN - 900.0)
    fleet.advance(900.0)
    deck = SimulatedDeck(fleet, store)
    deck.run(USUAL_MINUTES * 60.0)
    return Watched(deck)


@dataclass(frozen=True)
class Case:
    """A fault, for how many minutes it is on, and what is said of it."""

    act: Act
    undo: Act
    rule: str
    cause: str
    minutes: int = 25
    after: int = 45
    spec: FleetSpec = SPEC


def fault(name: str, rule: str, cause: str, *, replica: str = "", minutes: int = 25, spec: FleetSpec = SPEC) -> Case:
    return Case(
        lambda deck: deck.switch(name, "chat", replica or "chat-0"),
        lambda deck: deck.switch(name, "chat", replica or "chat-0", on=False),
        rule,
        cause,
        minutes,
        spec=spec,
    )


CASES = {
    "worker-loss": fault("worker-loss", "l2_outage", "l2_outage"),
    "l2-unreadable": fault("l2-unreadable", "l2_outage", "l2_outage"),
    "l2-write-only": fault("l2-write-only", "l2_outage", "l2_outage"),
    "l2-writes-lost": fault("l2-writes-lost", "l2_outage", "l2_outage"),
    "fuse-hang": fault("fuse-hang", "l2_outage", "l2_outage"),
    "full-pool": fault("full-pool", "pool_full", "l2_outage"),
    "workload-shift": fault("workload-shift", "hit_ratio_drop", "workload_shift"),
    "eviction-storm": fault("eviction-storm", "hit_ratio_drop", "eviction_storm"),
    # Each replica fills its own tiers again: it is kept quiet as recovering until that comes to a halt.
    "hash-seed": fault("hash-seed", "hit_ratio_drop", "key_mismatch", minutes=50),
    "cache-server-gone": fault("cache-server-gone", "requests_deferred", "cache_server", minutes=20),
    "cache-server-frozen": fault("cache-server-frozen", "hit_ratio_drop", "cache_server", minutes=30),
    "no-engine-metrics": fault("no-engine-metrics", "no_data", "metrics_lost", minutes=20, spec=SINGLE),
}
HARMLESS = ("replica-restart", "version-silent", "metric-rename", "slow-scrape", "ttft-off-scale")


@pytest.mark.parametrize("name", CASES)
def test_a_fault_raises_one_alert_that_names_its_cause_and_resolves(sqlite: Sqlite, name: str) -> None:
    case = CASES[name]
    with Store.open(sqlite.migrated()) as store:
        watched = usual(case.spec, store)
        watched.run(5)
        assert watched.said() == []
        case.act(watched.deck)
        watched.run(case.minutes)
        (alert,) = watched.said()
        assert (alert.rule, alert.state) == (case.rule, AlertState.FIRING)
        assert alert.causes[0].name == case.cause, [cause.words for cause in alert.causes]
        case.undo(watched.deck)
        watched.run(case.after)
        (after,) = watched.said()
        assert (after.id, after.state) == (alert.id, AlertState.RESOLVED)
        kinds = [one.kind for one in store.notices(alert_id=alert.id)]
        assert sorted(kinds) == [NoticeKind.FIRING, NoticeKind.RESOLVED]


def test_what_heals_itself_or_breaks_nothing_is_quiet(sqlite: Sqlite) -> None:
    with Store.open(sqlite.migrated()) as store:
        watched = usual(SPEC, store)
        watched.run(10)
        for name in HARMLESS:
            watched.deck.switch(name, "chat", "chat-1")
            watched.run(20)
            watched.deck.switch(name, "chat", "chat-1", on=False)
            watched.run(10)
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
