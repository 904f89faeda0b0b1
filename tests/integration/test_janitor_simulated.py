"""The pool-filling workload in simulated time: with the janitor the pool stays below its mark and serves as LMCache's
own eviction would; without it the alert comes before the first write fails.
"""

from __future__ import annotations

import pytest

from alerting.alerting import Alerting, Told
from db import Store
from health.pulse import Pulse
from tests.support.janitor_fleet import POOL, RULES, Watch, clean, filling
from tests.support.simulated_deck import CLUSTER, SimulatedDeck
from tests.support.stores import Sqlite
from tierdeck.account import WarmingLimits
from tierdeck.alerts.rules import POOL_FILLING
from tierdeck.l2.janitor_runs import Order, Outcome
from tierdeck.settings import Settings

BEFORE_SECONDS, WATCHED_SECONDS = 1800.0, 2400.0
"""The pool would be full after some 20 minutes."""


def watched(evicts: bool) -> Watch:
    return Watch(filling(evicts=evicts))


@pytest.fixture(scope="module")
def lru() -> float:
    """The chats' hit ratio on the simulator's LRU of the same size."""
    watch = watched(evicts=True)
    watch.run(BEFORE_SECONDS)
    watch.begin()
    watch.run(WATCHED_SECONDS)
    assert watch.fleet.pool.evicted_chunks > 500, "the pool was too large to say anything"
    return watch.hit_ratio


@pytest.mark.parametrize("order", [Order.READ, Order.WRITTEN])
def test_the_pool_stays_below_its_mark_and_serves_as_an_lru_would(sqlite: Sqlite, lru: float, order: Order) -> None:
    watch = watched(evicts=False)
    with Store.open(sqlite.migrated()) as store:
        janitor = clean(watch.fleet, store, keeps_read_times=order is Order.READ)
        watch.run(BEFORE_SECONDS)
        watch.begin()
        watch.run(WATCHED_SECONDS)
        runs = store.janitor_runs(limit=500)
    assert janitor.trouble == ""
    assert watch.top < RULES.marks.high
    assert watch.fleet.pool.refused_chunks == 0
    assert watch.hit_ratio > lru - 0.03
    assert {run.outcome for run in runs} <= {Outcome.CLEANED, Outcome.NOTHING, Outcome.RUNNING}
    assert {run.order for run in runs if run.deleted_files} == {order}
    parts = {part.identity for run in runs for part in run.identities}
    assert parts == {"m", "writer"}, "each model has a directory of its own"


def test_without_it_the_alert_comes_before_the_first_write_fails(sqlite: Sqlite) -> None:
    settings = Settings(cluster=CLUSTER, scrape_interval_seconds=60)
    with Store.open(sqlite.migrated()) as store:
        deck = SimulatedDeck(filling(80 * 2**30), store)
        alerting = Alerting(settings, store, Told(), "1", Pulse())
        fired_at, pool = None, deck.fleet.pool
        while not pool.refused_chunks:
            deck.run(60.0)
            store.rollup(deck.now + 25, WarmingLimits())
            alerting.tick(deck.now + 25)
            firing = [alert for alert in store.open_alerts(CLUSTER) if alert.fired_at is not None]
            if fired_at is None and any(one.rule == POOL_FILLING.name and one.subject.part == POOL for one in firing):
                fired_at = deck.now
        assert fired_at is not None
        assert deck.now - fired_at >= 300.0, "in time to do something"
