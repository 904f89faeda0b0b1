"""Silences and maintenance windows as rows: those that hold and those to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from console.alert_words import matchers_words
from console.words import age_words, clock
from tierdeck.alerts.silence import Silence


@dataclass(frozen=True, slots=True)
class SilenceRow:
    """One of them in words; `is_active` is false for one to come."""

    id: int
    what: str
    whom: str
    when: str
    why: str
    by: str
    is_active: bool
    is_maintenance: bool
    matchers: Mapping[str, str]


def silence_rows(silences: Sequence[Silence], now: float) -> tuple[SilenceRow, ...]:
    """Those that hold first, by when they end; then those to come."""
    shown = [one for one in silences if one.is_active(now) or (one.ended_at is None and one.starts_at > now)]
    shown.sort(key=lambda one: (not one.is_active(now), one.ends_at))
    return tuple(_row(one, now) for one in shown)


def _row(one: Silence, now: float) -> SilenceRow:
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
    )
