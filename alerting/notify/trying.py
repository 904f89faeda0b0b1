"""Tries channels one after the other, now and without the outbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alerting.notify.channel import Channel, UndeliveredError
from alerting.notify.heartbeat import Heartbeat
from tierdeck.alerts.saying import trial_notice
from tierdeck.alerts.wording import word
from tierdeck.errors import UsageError

HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class Tried:
    """How it ended; `trouble` is empty where it arrived."""

    channel: str
    kind: str
    trouble: str = ""

    def line(self) -> str:
        return f"{self.channel} ({self.kind}): {f'not sent: {self.trouble}' if self.trouble else 'sent'}"


def try_channels(
    channels: Sequence[Channel], heartbeat: Heartbeat | None, wanted: str, now: float, console_url: str
) -> Iterator[Tried]:
    """Try the channel that is wanted, or all of them where it is empty.

    Raises:
        UsageError: there is no such channel, or none at all.
    """
    names = [channel.name for channel in channels] + ([HEARTBEAT] if heartbeat else [])
    if not names:
        raise UsageError("no channel is configured", "docs/notify.md says how.")
    if wanted and wanted not in names:
        raise UsageError(f"there is no channel {wanted!r}", f"Known: {', '.join(names)}.")
    for channel in channels:
        if wanted in ("", channel.name):
            yield _try(channel, now, console_url)
    if heartbeat is not None and wanted in ("", HEARTBEAT):
        try:
            heartbeat.beat()
        except UndeliveredError as error:
            yield Tried(HEARTBEAT, HEARTBEAT, error.trouble.words)
        else:
            yield Tried(HEARTBEAT, HEARTBEAT)


def _try(channel: Channel, now: float, console_url: str) -> Tried:
    notice = trial_notice(channel.name, now)
    try:
        channel.send(notice, word(notice, console_url))
    except UndeliveredError as error:
        return Tried(channel.name, channel.kind, error.trouble.words)
    except Exception as error:  # noqa: BLE001 the next channel is tried all the same; its words may hold an address
        return Tried(channel.name, channel.kind, f"the channel failed ({type(error).__name__})")
    return Tried(channel.name, channel.kind)
