"""Alerts, notices and silences for tests."""

from __future__ import annotations

from dataclasses import replace

from tests.support.rounds import T0
from tierdeck.alerts.alert import Alert, AlertState, FoundCause, Severity, Subject
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.alerts.silence import Silence

CHAT = Subject("east", "inference/chat")


def pending(subject: Subject = CHAT, rule: str = "hit_ratio_drop", at: float = T0) -> Alert:
    return Alert(rule, subject, AlertState.PENDING, Severity.WARNING, at, words="25 points below the usual")


def firing(subject: Subject = CHAT, rule: str = "hit_ratio_drop", at: float = T0) -> Alert:
    """Everything that an alert can have; pending for four minutes."""
    cause = FoundCause("restart", "vllm-2 restarted", "start time 14:02", points=-0.18, replica="vllm-2", at=at - 60)
    return replace(
        pending(subject, rule, at - 240),
        state=AlertState.FIRING,
        fired_at=at,
        value=0.53,
        expected=0.78,
        depth=0.25,
        evidence={"5 minutes": "53 %", "15 minutes": "55 %"},
        causes=(cause, FoundCause("unknown", "the rest is unknown", "")),
        flips=(at - 3000, at),
    )


def resolved(alert: Alert, at: float) -> Alert:
    return replace(alert, state=AlertState.RESOLVED, resolved_at=at)


def notice(
    key: str, alert: Alert | None = None, *, channel: str = "slack", at: float = T0, kind: NoticeKind = NoticeKind.TEST
) -> Notice:
    return Notice(key, channel, kind, alert, created_at=at, due_at=at)


def silence(at: float = T0, seconds: float = 3600, *, is_maintenance: bool = False, **matchers: str) -> Silence:
    wanted = matchers or {"cluster": "east"}
    return Silence(wanted, at, at + seconds, "a new rack", "ada", is_maintenance=is_maintenance)
