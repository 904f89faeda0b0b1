"""Times in which nobody judged are noted when judging goes on, by whichever process."""

from __future__ import annotations

from pathlib import Path

from alerting.alerting import Alerting, Told
from console.alert_reads import judged_by
from db import Store
from health.pulse import Pulse
from tests.support.rounds import T0, a_round
from tests.support.stores import Sqlite
from tests.unit.tierdeck.alerts.scenes import CHAT
from tierdeck.account import WarmingLimits
from tierdeck.alerts.limits import AlertLimits, Limits
from tierdeck.settings import Settings

LIMITS = AlertLimits(Limits(floor=0.4))


def goes_on(store: Store, ours: Alerting, now: float) -> None:
    """Figures come in up to now, and are judged."""
    store.append([a_round(now - 90.0), a_round(now - 30.0)])
    store.rollup(now, WarmingLimits())
    ours.tick(now)
    assert ours.trouble == ""


def test_a_time_without_judging_is_noted_once_it_is_over(sqlite: Sqlite, tmp_path: Path) -> None:
    """By the process that goes on after it; it also tells others by which limits it judges."""
    with Store.open(sqlite.migrated()) as store:
        store.save_alerts([], [], T0 - 1320.0, judged=CHAT.cluster)
        ours = Alerting(Settings(cluster=CHAT.cluster, home=tmp_path), store, Told(LIMITS), "1", Pulse())
        goes_on(store, ours, T0)
        assert store.unjudged(0.0, T0 + 1e6) == [(CHAT.cluster, T0 - 1320.0, T0)]
        for minute in range(1, 4):
            goes_on(store, ours, T0 + 60.0 * minute)
        assert len(store.unjudged(0.0, T0 + 1e6)) == 1
        goes_on(store, ours, T0 + 9000.0)
        assert store.unjudged(T0 + 5000.0, T0 + 1e6) == [(CHAT.cluster, T0 + 180.0, T0 + 9000.0)], (
            "longer than it makes up"
        )
        assert store.limits() == {CHAT.cluster: LIMITS}
        assert set(store.judges()) == {CHAT.cluster}
        assert judged_by(store, T0).trouble.startswith("Nothing is judged"), "no process has told that it lives"
