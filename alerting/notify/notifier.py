"""All that is said, behind one face: the outbox, Alertmanager's repetition, the heartbeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from alerting import metrics
from alerting.notify.alertmanager import REPOST_SECONDS, VALID_SECONDS, Alertmanager
from alerting.notify.channel import UndeliveredError
from alerting.notify.configured import Configured
from alerting.notify.faults import Faults
from alerting.notify.heartbeat import BEAT_SECONDS
from alerting.notify.sender import Sender
from db import Store
from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.saying import Now, compose
from tierdeck.alerts.silence import Silence
from tierdeck.errors import TierdeckError

log = structlog.get_logger()

_MOST_NOTICES = 1000
_MOST_ALERTS = 10_000
_JUDGED_SECONDS = 180.0
"""Older than this, the last judgement is too old to say that rules are being judged."""


class Notifier:
    """Of one alerting process."""

    def __init__(
        self,
        store: Store,
        ways: Configured,
        console_url: str = "",
        again_seconds: float = 4 * 3600,
        cluster: str | None = None,
        docs_url: str = "",
    ) -> None:
        """
        Args:
            cluster: only alerts of it are said; None: all of the store.
        """
        self._store = store
        self._cluster = cluster
        self._ways = ways
        self._again_seconds = again_seconds
        self._faults = Faults()
        self._sender = Sender(
            _Outbox(store, cluster), ways.channels, console_url, docs_url=docs_url, faults=self._faults
        )
        self._rhythms = [
            _Rhythm(f"repeating to {one.name}", REPOST_SECONDS, self._reposting(one), self._faults)
            for one in ways.alertmanagers
        ]
        if ways.heartbeat is not None:
            beat = self._beating(ways.heartbeat.beat)
            self._rhythms.append(_Rhythm("the heartbeat", BEAT_SECONDS, beat, self._faults))
        self._threads = ThreadPoolExecutor(max(1, len(self._rhythms)), "notify-rhythm")
        store.declare_channels(cluster or "", ways.names)

    def compose(self, alerts: Iterable[Alert], now: float) -> list[Notice]:
        """What is to be said of these alerts, to be saved with them in one transaction."""
        some = [one for one in alerts if one.state is not AlertState.PENDING]
        said = {one.id: self._store.notices(_MOST_NOTICES, alert_id=one.id) for one in some if one.id}
        return compose(some, said, self._ways.audiences, Now(now, self._store.silences(now), self._again_seconds))

    def run_once(self, now: float, *, judged_at: float | None) -> None:
        """Send what is due; keep Alertmanager and the heartbeat going as long as rules are judged.

        Args:
            judged_at: when the rules were last judged, by whichever process; None: not yet.
        """
        is_watching = judged_at is not None and now - judged_at < _JUDGED_SECONDS
        for rhythm in self._rhythms:
            rhythm.keep(self._threads, now, is_watching=is_watching)
        self._sender.run_once(now)

    def trouble(self) -> str:
        """Faults of ours in what is under way, until it goes well; empty: none."""
        return self._faults.trouble()

    def close(self) -> None:
        """Wait for what is under way."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._sender.close()

    def _reposting(self, there: Alertmanager) -> Callable[[float, bool], None]:
        def repost(now: float, is_watching: bool) -> None:  # noqa: FBT001 called by a rhythm alone
            try:
                there.repeat(lambda: list(self._told(there.name, now)), is_watching=is_watching)
            except UndeliveredError as error:
                metrics.NOTICES.labels(there.kind, "failed").inc()
                log.warning("alerts_not_repeated", channel=there.name, reason=error.trouble.words)
            except TierdeckError as error:
                log.warning("alerts_not_repeated", channel=there.name, reason=error.line())

        return repost

    def _told(self, channel: str, now: float) -> Iterable[Alert]:
        """Alerts that were to be said there, and fire or were over lately: what is over is said again too, in case
        that something older came after it."""
        for alert in self._store.alerts(now - VALID_SECONDS, now, self._cluster, limit=_MOST_ALERTS):
            if alert.state is AlertState.PENDING:
                continue
            said = self._store.notices(_MOST_NOTICES, alert_id=alert.id)
            if any(one.channel == channel and one.kind is NoticeKind.FIRING for one in said):
                yield alert

    def _beating(self, beat: Callable[[], None]) -> Callable[[float, bool], None]:
        def beat_if_watching(_: float, is_watching: bool) -> None:  # noqa: FBT001 called by a rhythm alone
            if not is_watching:
                return
            try:
                beat()
                metrics.HEARTBEATS.labels("sent").inc()
            except UndeliveredError as error:
                metrics.HEARTBEATS.labels("failed").inc()
                log.warning("heartbeat_failed", reason=error.trouble.words)

        return beat_if_watching


class _Outbox:
    """What is to be said of one cluster's alerts."""

    def __init__(self, store: Store, cluster: str | None) -> None:
        self._store = store
        self._cluster = cluster

    def take_notice(self, now: float, channels: Collection[str], claim_seconds: float) -> Notice | None:
        return self._store.take_notice(now, channels, claim_seconds, self._cluster)

    def notice_sent(self, number: int, at: float) -> None:
        self._store.notice_sent(number, at)

    def notice_failed(self, number: int, at: float, trouble: str, again_at: float | None) -> None:
        self._store.notice_failed(number, at, trouble, again_at)

    def notices_waiting(self) -> int:
        return self._store.notices_waiting()

    def alert(self, number: int) -> Alert | None:
        return self._store.alert(number)

    def silences(self, now: float) -> Sequence[Silence]:
        return self._store.silences(now)


class _Rhythm:
    """Something that is done every so often, in the background, and never twice at a time."""

    def __init__(self, name: str, seconds: float, act: Callable[[float, bool], None], faults: Faults) -> None:
        self._name, self._seconds, self._act, self._faults = name, seconds, act, faults
        self._due_at = float("-inf")
        self._running: Future[None] | None = None

    def keep(self, threads: ThreadPoolExecutor, now: float, *, is_watching: bool) -> None:
        if time.monotonic() < self._due_at or (self._running is not None and not self._running.done()):
            return
        self._due_at = time.monotonic() + self._seconds
        self._running = threads.submit(self._once, now, is_watching)

    def _once(self, now: float, is_watching: bool) -> None:  # noqa: FBT001 called by a thread alone
        try:
            self._act(now, is_watching)
        except Exception as error:  # noqa: BLE001 nobody asks how this ended: told as a fault until it goes well
            self._faults.failed(self._name, error)
        else:
            self._faults.went_well(self._name)
