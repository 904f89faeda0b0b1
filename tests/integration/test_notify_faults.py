"""Faults of ours in the threads that send: logged with where they happened, and told until they are over."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from alerting.alerting import Alerting, Told
from alerting.notify.address import Address
from alerting.notify.configured import Configured
from alerting.notify.faults import Faults
from alerting.notify.heartbeat import Heartbeat
from alerting.notify.sender import Sender
from alerting.notify.webhook import Webhook
from db import Store
from health.pulse import Pulse
from tests.support.processes import wait_until
from tests.support.rounds import T0
from tests.support.stores import Sqlite
from tierdeck.alerts.notice import Notice
from tierdeck.alerts.saying import Audience
from tierdeck.settings import Settings

SECRET = "T0p-5ecret"


class Faulty(Store):
    """One of whose rows can't be read."""

    is_broken = True

    def take_notice(
        self, now: float, channels: Collection[str], claim_seconds: float, cluster: str | None = None
    ) -> Notice | None:
        if self.is_broken:
            raise ValueError(f"a fault of ours at http://hook.example/{SECRET}")
        return super().take_notice(now, channels, claim_seconds, cluster)


class NoBeat(Heartbeat):
    """A fault where it asks."""

    def beat(self) -> None:
        raise KeyError(SECRET)


def test_a_fault_in_a_thread_is_logged_and_fails_the_health(
    sqlite: Sqlite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pulse, stop = Pulse(), threading.Event()
    address = Address.parse("http://127.0.0.1:1/")
    ways = Configured((Webhook(Audience("hook"), address),), NoBeat(address))
    with Faulty.open(sqlite.migrated()) as store:
        store.save_alerts([], [], time.time(), judged="east")
        ours = Alerting(Settings(cluster="east", home=tmp_path), store, Told(ways=ways), "1", pulse)
        thread = threading.Thread(target=ours.run, args=(stop,), daemon=True)
        thread.start()
        try:
            wait_until(lambda: "channel hook" in pulse.trouble() and "heartbeat" in pulse.trouble(), "both faults")
            assert "the loop say fails" in pulse.trouble()
        finally:
            stop.set()
            thread.join(30)
    told = capsys.readouterr()
    assert "in take_notice" in told.out + told.err, "the log says where"
    assert SECRET not in told.out + told.err, "an error's words may hold an address"


def test_it_is_over_once_the_channel_goes_well_and_it_is_left_alone_until_then(sqlite: Sqlite) -> None:
    faults = Faults()
    hook = Webhook(Audience("hook"), Address.parse("http://127.0.0.1:1/"))
    with Faulty.open(sqlite.migrated()) as store:
        ours = Sender(store, (hook,), patience_seconds=60.0, faults=faults)
        ours.run_once(T0)
        assert faults.trouble().startswith("a fault of Tierdeck's own at channel hook (ValueError)")
        store.is_broken = False
        ours.run_once(T0 + 5)
        assert faults.trouble(), "it is not asked again at once"
        ours.run_once(T0 + 15)
        assert faults.trouble() == ""
        ours.close()
