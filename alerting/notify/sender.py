"""Empties the outbox: each channel on its own, each notice until it is there, given up, or a day old.

What holds when this process is killed: a notice is claimed, then sent, then marked. Killed before it was sent, it is
sent when the claim ends. Killed between sending and marking, it is sent once more, with the same key and marked as a
possible repeat: a receiver that knows the key drops it (`Channel.can_confirm`), others show it twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Protocol

import structlog

from alerting import metrics
from alerting.notify.channel import SEND_SECONDS, Channel, Trouble, UndeliveredError
from alerting.notify.faults import Faults
from tierdeck.alerts.alert import Alert, AlertState
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.silence import Silence
from tierdeck.alerts.wording import word
from tierdeck.errors import TierdeckError

log = structlog.get_logger()

CLAIM_SECONDS = 4 * SEND_SECONDS
"""Longer than a sending can take, and than it takes to write its outcome down."""
GIVE_UP_SECONDS = 86400.0
_PAUSE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 900.0
_UNSURE = "; it may have arrived all the same"


class Outbox(Protocol):
    """What is needed of the store."""

    def take_notice(self, now: float, channels: Collection[str], claim_seconds: float) -> Notice | None: ...
    def notice_sent(self, number: int, at: float) -> None: ...
    def notice_failed(self, number: int, at: float, trouble: str, again_at: float | None) -> None: ...
    def notices_waiting(self) -> int: ...
    def alert(self, number: int) -> Alert | None: ...
    def silences(self, now: float) -> Sequence[Silence]: ...


class Sender:
    """One of them for each process; several processes on one store take turns by claims."""

    def __init__(
        self,
        outbox: Outbox,
        channels: Sequence[Channel],
        console_url: str = "",
        *,
        docs_url: str = "",
        patience_seconds: float = 5.0,
        faults: Faults | None = None,
    ) -> None:
        """`patience_seconds`: how long `run_once` waits for channels that are slow."""
        self._faults = faults or Faults()
        self._docs_url = docs_url
        self._outbox = outbox
        self._channels = {channel.name: channel for channel in channels}
        self._console_url = console_url
        self._patience_seconds = patience_seconds
        self._threads = ThreadPoolExecutor(max(1, len(channels)), "notify")
        self._busy: dict[str, Future[None]] = {}
        self._quiet_until: dict[str, float] = {}
        self._unmarked: dict[int, float] = {}

    def run_once(self, now: float) -> None:
        """Send what is due at `now`. A channel that is still at it is left to it, and holds up no other."""
        for name in self._channels:
            if name not in self._busy or self._busy[name].done():
                self._busy[name] = self._threads.submit(self._empty, name, _Clock(now))
        wait(self._busy.values(), self._patience_seconds)
        try:
            metrics.NOTICES_WAITING.set(self._outbox.notices_waiting())
        except TierdeckError as error:
            log.warning("outbox_not_counted", reason=error.line())

    def close(self) -> None:
        """Wait until what is under way has its outcome; begin nothing more."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _empty(self, name: str, clock: Callable[[], float]) -> None:
        """Take and send until nothing is due, or the channel does not take it."""
        try:
            while self._quiet_until.get(name, 0.0) <= clock():
                notice = self._outbox.take_notice(clock(), (name,), CLAIM_SECONDS)
                is_on = notice is not None and self._deal_with(self._channels[name], notice, clock)
                self._faults.went_well(f"channel {name}")
                if not is_on:
                    return
        except TierdeckError as error:
            log.warning("outbox_not_reached", channel=name, reason=error.line())
        except Exception as error:  # noqa: BLE001 nobody asks how this ended: told as a fault until it goes well
            self._faults.failed(f"channel {name}", error)
            self._quiet_until[name] = clock() + _PAUSE_SECONDS

    def _deal_with(self, channel: Channel, notice: Notice, clock: Callable[[], float]) -> bool:
        """Whether to go on with the next one."""
        sent_at = self._unmarked.get(notice.id)
        if sent_at is None:
            if stale := self._out_of_date(notice, clock()):
                self._outbox.notice_failed(notice.id, clock(), stale, None)
                return True
            trouble = _send(channel, notice, self._console_url, self._docs_url)
            if trouble is not None:
                self._failed(channel, notice, trouble, clock())
                return not trouble.may_heal
            sent_at = self._unmarked[notice.id] = clock()
        # sent: where the store is away just now, the claim ends, and only the marking is done again
        self._outbox.notice_sent(notice.id, sent_at)
        del self._unmarked[notice.id]
        metrics.NOTICES.labels(channel.kind, "sent").inc()
        log.info("notice_sent", channel=channel.name, notice=notice.id, kind=str(notice.kind), tries=notice.tries)
        return True

    def _out_of_date(self, notice: Notice, now: float) -> str:
        """Why it is not to be said again: that would only wake people. What was never said is said all the same."""
        if notice.kind is not NoticeKind.AGAIN or notice.alert is None:
            return ""
        current = self._outbox.alert(notice.alert.id)
        if current is None:
            return ""
        if current.state is not AlertState.FIRING or current.acknowledged is not None:
            return "the alert is over or acknowledged meanwhile"
        if current.suppressed_by:
            return "the alert is kept quiet meanwhile"
        is_silenced = any(silence.covers(current, now) for silence in self._outbox.silences(now))
        return "the alert is silenced meanwhile" if is_silenced else ""

    def _failed(self, channel: Channel, notice: Notice, trouble: Trouble, at: float) -> None:
        pause = min(_PAUSE_SECONDS * 2.0 ** min(notice.tries - 1, 10), _LONGEST_PAUSE_SECONDS)
        again_at = at + max(pause, trouble.wait_seconds)
        is_over = not trouble.may_heal or again_at - notice.created_at > GIVE_UP_SECONDS
        words = trouble.words + (_UNSURE if trouble.is_unsure and not channel.can_confirm else "")
        self._outbox.notice_failed(notice.id, at, words, None if is_over else again_at)
        if trouble.wait_seconds:
            self._quiet_until[channel.name] = at + trouble.wait_seconds
        metrics.NOTICES.labels(channel.kind, "given_up" if is_over else "failed").inc()
        facts = {"channel": channel.name, "notice": notice.id, "reason": trouble.words, "tries": notice.tries}
        log.warning("notice_given_up" if is_over else "notice_failed", **facts)


class _Clock:
    """Goes on from a given time, so that a claim made late is not already half over."""

    def __init__(self, now: float) -> None:
        self._now, self._started = now, time.monotonic()

    def __call__(self) -> float:
        return self._now + time.monotonic() - self._started


def _send(channel: Channel, notice: Notice, console_url: str, docs_url: str) -> Trouble | None:
    may_repeat = (notice.may_repeat or _UNSURE in notice.trouble) and not channel.can_confirm
    told = replace(notice, may_repeat=may_repeat)
    try:
        channel.send(told, word(told, console_url, docs_url))
    except UndeliveredError as error:
        return error.trouble
    except Exception as error:  # noqa: BLE001 whatever it is becomes a row; its words may hold an address
        return Trouble(f"the channel failed ({type(error).__name__})", is_unsure=True)
    return None
