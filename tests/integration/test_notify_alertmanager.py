"""A real Alertmanager gets an alert once, its silences hold, and what is over is over there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from alerting.notify.alertmanager import WATCHDOG, Alertmanager
from alerting.notify.channel import UndeliveredError
from alerting.notify.configured import configured
from alerting.notify.notifier import Notifier
from db import Store
from tests.support.alertmanager import RunningAlertmanager, running_alertmanager
from tests.support.alerts import firing, resolved
from tests.support.http_replies import Canned, Replies, replying
from tests.support.processes import wait_until
from tierdeck.alerts.alert import Alert
from tierdeck.settings import Settings

NAME = "TierdeckHitRatioDrop"
CONSOLE = "https://deck.example"


@pytest.fixture
def hook() -> Iterator[Replies]:
    with replying(Canned()) as server:
        yield server


@pytest.fixture
def there(tmp_path: Path, hook: Replies) -> Iterator[RunningAlertmanager]:
    with running_alertmanager(tmp_path, hook.url) as server:
        yield server


def notifier(store: Store, there: RunningAlertmanager, **settings: Any) -> Notifier:
    return Notifier(store, configured(Settings(alertmanager_url=there.url, **settings)), CONSOLE)


def minute(store: Store, ours: Notifier, alert: Alert, now: float) -> Alert:
    (saved,) = store.save_alerts([alert], ours.compose([alert], now), now)
    ours.run_once(now, judged_at=now)
    return saved


def heard(hook: Replies, name: str = NAME) -> list[str]:
    """What Alertmanager said to its own receiver about it: `firing` or `resolved`."""
    return [
        alert["status"]
        for asked in list(hook.asked)
        for alert in asked.json()["alerts"]
        if alert["labels"]["alertname"] == name
    ]


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def test_an_alert_is_there_once_with_its_labels_and_words_and_resolves(
    store: Store, there: RunningAlertmanager, hook: Replies
) -> None:
    now = time.time()
    ours = notifier(store, there)
    alert = minute(store, ours, replace(firing(at=now - 60), id=0), now)
    wait_until(lambda: heard(hook) == ["firing"], "the alert at the receiver")
    (one,) = there.alerts(NAME)
    assert one["labels"] == {
        "alertname": NAME,
        "rule": "hit_ratio_drop",
        "severity": "warning",
        "cluster": "east",
        "endpoint": "inference/chat",
    }
    assert one["startsAt"][:19] == iso(now - 60)[:19]
    assert one["generatorURL"] == f"{CONSOLE}/alerts?alert={alert.id}"
    assert one["annotations"]["summary"].startswith("[WARNING] The hit ratio dropped")
    assert "vllm-2 restarted" in one["annotations"]["causes"]
    assert one["annotations"]["runbook"].startswith("1. Begin with the first cause")
    # said again by two processes more, as after a restart: the same alert, and nobody hears of it twice
    for _ in range(2):
        other = notifier(store, there)
        minute(store, other, alert, now + 1)
        other.close()
    assert len(there.alerts(NAME)) == 1
    minute(store, ours, resolved(alert, now + 1), now + 2)
    wait_until(lambda: heard(hook) == ["firing", "resolved"], "its end at the receiver")
    assert there.alerts(NAME) == []
    ours.close()


def test_a_silence_there_holds(store: Store, there: RunningAlertmanager, hook: Replies) -> None:
    now = time.time()
    there.silence(iso(now - 1), iso(now + 3600), endpoint="inference/chat", rule="hit_ratio_drop")
    ours = notifier(store, there)
    minute(store, ours, firing(at=now - 60), now)
    # another one that is not silenced shows that what is due has been sent
    minute(store, ours, firing(at=now - 60, rule="no_data"), now)
    wait_until(lambda: heard(hook, "TierdeckNoData") == ["firing"], "the other alert at the receiver")
    (one,) = there.alerts(NAME)
    assert one["status"]["state"] == "suppressed"
    assert heard(hook) == []
    ours.close()


def test_one_that_lost_everything_is_told_again(store: Store, tmp_path: Path, hook: Replies) -> None:
    now = time.time()
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    with running_alertmanager(tmp_path / "before", hook.url) as before:
        ours = notifier(store, before)
        alert = minute(store, ours, firing(at=now - 60), now)
        ours.close()
        assert before.alerts(NAME)
    with running_alertmanager(tmp_path / "after", hook.url) as after:
        ours = notifier(store, after)
        minute(store, ours, alert, now + 60)
        wait_until(lambda: len(after.alerts(NAME)) == 1, "the alert in the new Alertmanager")
        ours.close()


def test_a_post_that_comes_too_late_does_not_bring_back_what_is_over(
    store: Store, there: RunningAlertmanager, hook: Replies
) -> None:
    now = time.time()
    ours = notifier(store, there)
    alert = minute(store, ours, firing(at=now - 60), now)
    wait_until(lambda: heard(hook) == ["firing"], "the alert at the receiver")
    minute(store, ours, resolved(alert, now), now + 1)
    (late,) = configured(Settings(alertmanager_url=there.url)).alertmanagers
    late.repeat(lambda: [alert], is_watching=False)
    assert there.alerts(NAME)
    ours.close()
    other = notifier(store, there)  # its first repetition is due at once
    other.run_once(now + 60, judged_at=None)
    wait_until(lambda: there.alerts(NAME) == [], "its end there")
    other.close()


def test_the_watchdog_fires_only_while_rules_are_judged(store: Store, there: RunningAlertmanager) -> None:
    now = time.time()
    idle = notifier(store, there)
    idle.run_once(now, judged_at=now - 3600)
    idle.close()
    assert there.alerts(WATCHDOG) == []
    ours = notifier(store, there)
    ours.run_once(now, judged_at=now)
    ours.close()
    (one,) = there.alerts(WATCHDOG)
    left = datetime.fromisoformat(one["endsAt"]).timestamp() - now
    assert left == pytest.approx(180, abs=2)


def test_what_it_refuses_is_told_without_its_address(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with replying(Canned(401, "SECRET")) as server:
        settings = Settings(alertmanager_url=f"{server.url}/am/api/v2/alerts", alertmanager_token_file=token)
        (one,) = configured(settings).alertmanagers
        with pytest.raises(UndeliveredError, match="can't be read"):
            ask(one)
        token.write_text("CANARY\n")
        with pytest.raises(UndeliveredError, match="it answered with HTTP 401"):
            ask(one)
    assert server.asked[0].target == "/am/api/v2/alerts"
    assert server.asked[0].headers["Authorization"] == "Bearer CANARY"


def ask(one: Alertmanager) -> None:
    one.repeat(lambda: [firing()], is_watching=True)
