"""A process that sends is killed anywhere: nothing is lost, and what may be doubled has the same key."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alerting.notify.sender import CLAIM_SECONDS
from db import Store
from tests.support.alertmanager import running_alertmanager
from tests.support.http_replies import Canned, replying
from tests.support.processes import PATIENCE_SECONDS, running, wait_until
from tests.support.rounds import T0
from tests.support.sending import POINTS
from tests.support.stores import Postgres, Sqlite

LATER = T0 + CLAIM_SECONDS + 1
TWICE = {"after_sending"}


def send(log: Path, url: str, now: float, point: str, **settings: str) -> int:
    with running("tests.support.sending", url, str(now), point, log=log, **settings) as process:
        return process.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_point_it_is_said_once_or_twice_with_the_same_key(
    sqlite: Sqlite, tmp_path: Path, point: str
) -> None:
    url, log = sqlite.migrated(), tmp_path / "log"
    with replying(Canned()) as server:
        hook = {"TIERDECK_NOTIFY_URLS": f"hook=webhook+{server.url}"}
        assert send(log, url, T0, point, **hook) == -signal.SIGKILL
        assert send(log, url, LATER, "", **hook) == 0, log.read_text()
        keys = [asked.headers["Idempotency-Key"] for asked in server.asked]
    assert len(set(keys)) == 1
    assert len(keys) == (2 if point in TWICE else 1)
    with Store.open(url) as store:
        (one,) = store.notices()
        assert one.sent_at is not None
        assert store.take_notice(LATER + 2 * CLAIM_SECONDS, ["hook"], 1) is None
        assert len(store.open_alerts()) == 1


def test_killed_while_the_receiver_has_not_answered_yet(stores: Sqlite | Postgres, tmp_path: Path) -> None:
    url, log = stores.migrated(), tmp_path / "log"
    with replying(Canned(is_held=True), Canned()) as server:
        hook = {"TIERDECK_NOTIFY_URLS": f"hook=webhook+{server.url}"}
        with running("tests.support.sending", url, str(T0), "", log=log, **hook) as process:
            wait_until(lambda: len(server.asked) == 1 or process.poll() is not None, "the sending", log)
            process.kill()
            assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
        # within the claim nobody else sends it: who began may still be at it
        assert send(log, url, T0 + CLAIM_SECONDS - 1, "", **hook) == 0
        assert len(server.asked) == 1
        assert send(log, url, LATER, "", **hook) == 0, log.read_text()
        keys = [asked.headers["Idempotency-Key"] for asked in server.asked]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    with Store.open(url) as store:
        (one,) = store.notices()
        assert (one.tries, one.may_repeat, one.sent_at is not None) == (2, True, True)


def test_who_is_called_by_alertmanager_hears_of_it_once_wherever_the_process_is_killed(
    sqlite: Sqlite, tmp_path: Path
) -> None:
    with replying(Canned()) as hook, running_alertmanager(tmp_path, hook.url) as there:
        url, log = sqlite.migrated(), tmp_path / "log"
        settings = {"TIERDECK_ALERTMANAGER_URL": there.url}
        assert send(log, url, T0, "after_sending", **settings) == -signal.SIGKILL
        wait_until(lambda: bool(hook.asked), "the alert at Alertmanager's receiver", log)
        assert send(log, url, LATER, "", **settings) == 0, log.read_text()
        assert len(there.alerts("TierdeckHitRatioDrop")) == 1
        heard = [alert["labels"]["alertname"] for asked in hook.asked for alert in asked.json()["alerts"]]
    assert heard.count("TierdeckHitRatioDrop") == 1


def test_a_command_tries_each_channel_and_says_how_it_ended(tmp_path: Path) -> None:
    with replying(Canned()) as fine, replying(Canned(500, "CANARY")) as broken:
        file = tmp_path / "channels"
        file.write_text(f"# ours\nfine = webhook+{fine.url}/CANARY\nbroken: 'webhook+{broken.url}/CANARY'\n")
        settings = {**os.environ, "TIERDECK_NOTIFY_FILE": str(file), "TIERDECK_HEARTBEAT_URL": f"{fine.url}/CANARY"}

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "alerting", "notify-test", *arguments]
            return subprocess.run(
                command, env=settings, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
            )

        every = run()
        assert every.stdout.splitlines() == [
            "fine (webhook): sent",
            "broken (webhook): not sent: it answered with HTTP 500",
            "heartbeat (heartbeat): sent",
        ]
        assert (every.returncode, every.stderr) == (1, "")
        assert run("fine").returncode == 0
        nobody = run("nobody")
        assert nobody.returncode == 2
        assert nobody.stderr == "tierdeck: there is no channel 'nobody'. Known: fine, broken, heartbeat.\n"
    assert [asked.method for asked in fine.asked] == ["POST", "GET", "POST"]
