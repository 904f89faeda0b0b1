"""What is said to whom, and when: from alerts, silences and what was said before to the outbox's new rows. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tierdeck.alerts.alert import Alert, AlertState, Severity
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.silence import Silence

_WORST_FIRST = list(Severity)


@dataclass(frozen=True, slots=True)
class Audience:
    """A channel as far as this matters.

    Attributes:
        least: alerts that are less severe are not said there.
        is_repeated: what still fires is said again; not to one that repeats by itself, such as Alertmanager.
    """

    channel: str
    least: Severity = Severity.INFO
    is_repeated: bool = True

    def wants(self, alert: Alert) -> bool:
        return _WORST_FIRST.index(alert.severity) <= _WORST_FIRST.index(self.least)


@dataclass(frozen=True, slots=True)
class Now:
    """When it is asked (epoch seconds), what is silenced, and after how long what still fires is said again."""

    at: float
    silences: Collection[Silence] = ()
    again_seconds: float = 4 * 3600.0


def compose(
    alerts: Iterable[Alert], said: Mapping[int, Sequence[Notice]], audiences: Sequence[Audience], now: Now
) -> list[Notice]:
    """What is to be said now; the same twice has the same keys, so that the outbox takes it once.

    - An alert that fires is said once nothing holds it back: it is not suppressed, silenced or acknowledged. That
      may be long after it fired.
    - It is said again after `again_seconds`, counted from when the last one arrived; never while one is on its way.
    - That it is over is said where it was said that it fires, silenced or not: no incident stays open.

    Args:
        alerts: all that fire, and those that resolved since the last time; others are passed over.
        said: all notices about each alert, by its id.
    """
    return [
        notice
        for alert in alerts
        for audience in audiences
        if audience.wants(alert)
        for notice in _to_say(alert, _to(audience, said.get(alert.id, ())), audience, now)
    ]


def incident_key(alert: Alert) -> str:
    """The same for all that is said of one alert, before it has an id too: a receiver's key for the incident."""
    subject = alert.subject
    facts = [alert.rule, subject.cluster, subject.endpoint, subject.part, alert.pending_at]
    return "tierdeck-" + hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def trial_notice(channel: str, at: float) -> Notice:
    """A message that tries a channel; twice in one second it is the same."""
    key = f"tierdeck-test:{NoticeKind.TEST}:{channel}:{at:.0f}"
    return Notice(key, channel, NoticeKind.TEST, None, created_at=at, due_at=at)


def _to_say(alert: Alert, before: Sequence[Notice], audience: Audience, now: Now) -> Iterator[Notice]:
    is_told = any(one.given_up_at is None for one in before if one.kind is not NoticeKind.RESOLVED)
    if alert.state is AlertState.RESOLVED and is_told:
        yield _notice(alert, NoticeKind.RESOLVED, audience, now)
    if alert.state is not AlertState.FIRING or alert.suppressed_by or alert.acknowledged:
        return
    if any(silence.covers(alert, now.at) for silence in now.silences):
        return
    if not before:
        yield _notice(alert, NoticeKind.FIRING, audience, now)
    elif audience.is_repeated and _is_long_ago(before, now):
        number = sum(one.kind is NoticeKind.AGAIN for one in before) + 1
        yield _notice(alert, NoticeKind.AGAIN, audience, now, number)


def _to(audience: Audience, said: Sequence[Notice]) -> list[Notice]:
    return [one for one in said if one.channel == audience.channel and one.kind is not NoticeKind.TEST]


def _is_long_ago(before: Sequence[Notice], now: Now) -> bool:
    ends = [one.sent_at if one.sent_at is not None else one.given_up_at for one in before]
    return all(end is not None and now.at - end >= now.again_seconds for end in ends)


def _notice(alert: Alert, kind: NoticeKind, audience: Audience, now: Now, number: int = 0) -> Notice:
    key = f"{incident_key(alert)}:{kind}:{audience.channel}:{number}"
    return Notice(key, audience.channel, kind, alert, created_at=now.at, due_at=now.at)
