"""Silences and maintenance windows as rows: those that hold and those to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.alert_words import follows_from, matchers_words
from console.words import age_words, clock
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence


@dataclass(frozen=True, slots=True)
class SilenceRow:
    """One of them in words; `is_active` is false for one to come, `keeps` says what it keeps quiet just now."""

    id: int
    what: str
    whom: str
    when: str
    why: str
    by: str
    is_active: bool
    is_maintenance: bool
    matchers: Mapping[str, str]
    keeps: str = ""


def silence_rows(silences: Sequence[Silence], now: float, firing: Sequence[Alert] = ()) -> tuple[SilenceRow, ...]:
    """Those that hold first, by when they end; then those to come."""
    shown = [one for one in silences if one.is_active(now) or (one.ended_at is None and one.starts_at > now)]
    shown.sort(key=lambda one: (not one.is_active(now), one.ends_at))
    return tuple(_row(one, now, firing) for one in shown)


def _keeps(one: Silence, now: float, firing: Sequence[Alert]) -> str:
    """What follows from a silenced alert is quiet with it, and nobody should have to guess that."""
    own = [alert for alert in firing if one.covers(alert, now)]
    after = [alert for alert in firing if alert not in own and any(follows_from(alert, other) for other in own)]
    if not own:
        return ""
    return f"keeps {len(own)} quiet" + (
        f", and {len(after)} that follow{'s' if len(after) == 1 else ''}" if after else ""
    )


def _row(one: Silence, now: float, firing: Sequence[Alert]) -> SilenceRow:
    is_active = one.is_active(now)
    left = f"{age_words(one.ends_at - now)} left" if is_active else f"starts in {age_words(one.starts_at - now)}"
    until = f"until {clock(one.ends_at, now)}" if is_active else f"from {clock(one.starts_at, now)}"
    what = "maintenance" if one.is_maintenance else "silence"
    return SilenceRow(
        one.id,
        what,
        matchers_words(one),
        f"{until}, {left}",
        one.why,
        one.by,
        is_active,
        one.is_maintenance,
        one.matchers,
        _keeps(one, now, firing),
    )
