"""A sender for tests: `python -m tests.support.sending STORE NOW POINT`, with the channels of the settings.

It does one minute of an alert that fires: composes, saves, sends. At the point that is named it kills itself
(SIGKILL), as a machine that fails does. Else it prints its metrics at the end.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from prometheus_client import generate_latest

from alerting.notify.channel import Channel
from alerting.notify.configured import configured
from alerting.notify.notifier import Notifier
from alerting.notify.sender import Sender
from db import Store
from tests.support.alerts import firing
from tests.support.rounds import T0
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.notice import Notice
from tierdeck.alerts.saying import Audience
from tierdeck.alerts.silence import Silence
from tierdeck.alerts.wording import Wording
from tierdeck.log import configure
from tierdeck.settings import load_settings

POINTS = ("before_saving", "after_saving", "after_claiming", "after_sending", "after_marking")


@dataclass(frozen=True)
class MortalOutbox:
    """The store's outbox, in a process that dies at a point."""

    store: Store
    point: str

    def take_notice(self, now: float, channels: Collection[str], claim_seconds: float) -> Notice | None:
        taken = self.store.take_notice(now, channels, claim_seconds)
        if taken is not None:
            die_at("after_claiming", self.point)
        return taken

    def notice_sent(self, number: int, at: float) -> None:
        self.store.notice_sent(number, at)
        die_at("after_marking", self.point)

    def notice_failed(self, number: int, at: float, trouble: str, again_at: float | None) -> None:
        self.store.notice_failed(number, at, trouble, again_at)

    def notices_waiting(self) -> int:
        return self.store.notices_waiting()

    def alert(self, number: int) -> Alert | None:
        return self.store.alert(number)

    def silences(self, now: float) -> Sequence[Silence]:
        return self.store.silences(now)


@dataclass(frozen=True)
class MortalChannel:
    """A channel of a process that dies when the receiver has it, and before anybody here knows."""

    inner: Channel
    point: str

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def audience(self) -> Audience:
        return self.inner.audience

    @property
    def can_confirm(self) -> bool:
        return self.inner.can_confirm

    def send(self, notice: Notice, wording: Wording) -> None:
        self.inner.send(notice, wording)
        die_at("after_sending", self.point)


def die_at(here: str, point: str) -> None:
    """End as by `kill -9` where this is the point."""
    if here == point:
        os.kill(os.getpid(), signal.SIGKILL)


def main(store_url: str, now: float, point: str) -> None:
    settings = load_settings()
    configure("alerting", "debug")
    with Store.open(store_url) as store:
        ways = configured(settings)
        notifier = Notifier(store, ways, settings.console_url)
        (alert,) = store.open_alerts() or [firing(at=T0)]
        notices = notifier.compose([alert], now)
        die_at("before_saving", point)
        store.save_alerts([alert], notices, now)
        die_at("after_saving", point)
        sender = Sender(MortalOutbox(store, point), [MortalChannel(one, point) for one in ways.channels])
        sender.run_once(now)
        sender.close()
        notifier.run_once(now, judged_at=now)
        notifier.close()
    sys.stdout.write(generate_latest().decode())


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
