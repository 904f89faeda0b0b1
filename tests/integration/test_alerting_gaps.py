"""Times in which nobody judged are noted when judging goes on, by whichever process."""

from __future__ import annotations

from pathlib import Path

from alerting.alerting import Alerting, Told
from console.alert_reads import judged_by
from db import Store
from health.pulse import Pulse
from tests.support.rounds import T0, a_round
from tests.unit.tierdeck.alerts.scenes import CHAT
from tierdeck.account import WarmingLimits
from tierdeck.alerts.limits import AlertLimits, Limits
from tierdeck.settings import Settings

LIMITS = AlertLimits(Limits(floor=0.4))


def process(store: Store, home: Path, cluster: str = CHAT.cluster) -> Alerting:
    return Alerting(Settings(cluster=cluster, home=home), store, Told(LIMITS), "1", Pulse())


def goes_on(store: Store, ours: Alerting, now: float) -> None:
    """Figures come in up to now, and are judged."""
    store.append([a_round(now - 90.0), a_round(now - 30.0)])
    store.rollup(now, WarmingLimits())
    ours.tick(now)
    assert ours.trouble == ""


def test_a_time_without_judging_is_noted_once_it_is_over(store: Store, tmp_path: Path) -> None:
    first = process(store, tmp_path)
    for minute in range(3):
        goes_on(store, first, T0 + 60.0 * minute)
    assert store.unjudged(0.0, T0 + 1e6) == []
    judged_at = store.judged_up_to(CHAT.cluster)
    second = process(store, tmp_path)
    goes_on(store, second, T0 + 1320.0)
    assert store.unjudged(0.0, T0 + 1e6) == [(CHAT.cluster, judged_at, T0 + 1320.0)]
    goes_on(store, second, T0 + 1380.0)
    assert len(store.unjudged(0.0, T0 + 1e6)) == 1
    goes_on(store, second, T0 + 9000.0)
    assert store.unjudged(T0 + 5000.0, T0 + 1e6) == [(CHAT.cluster, T0 + 1380.0, T0 + 9000.0)], (
        "further than it makes up"
    )


def test_others_know_by_which_limits_and_by_which_process_a_cluster_is_judged(store: Store, tmp_path: Path) -> None:
    ours = process(store, tmp_path)
    goes_on(store, ours, T0)
    assert store.limits() == {CHAT.cluster: LIMITS}
    assert set(store.judges()) == {CHAT.cluster}
    assert judged_by(store, T0).trouble.startswith("Nothing is judged"), "no process has told that it lives"
