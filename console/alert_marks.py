"""What alerts and maintenance windows leave on charts: a stretch of time, and a word at its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence


class StretchKind(StrEnum):
    """Why a stretch is marked: an alert that still fires, one that is over, a maintenance window."""

    FIRING = "firing"
    OVER = "over"
    MAINTENANCE = "maintenance"

    @property
    def label(self) -> str:
        """The word on a chart."""
        return "maintenance" if self is StretchKind.MAINTENANCE else "alert"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time between two instants (UTC) of one endpoint."""

    start: pd.Timestamp
    end: pd.Timestamp
    kind: StretchKind
    whose: str


def alert_stretches(
    alerts: Sequence[Alert], start_at: float, end_at: float, silences: Sequence[Silence] = ()
) -> tuple[Stretch, ...]:
    """Alerts that fired within the window and that nothing keeps quiet at its end; the oldest first."""
    found = [
        Stretch(
            _utc(one.fired_at),
            _utc(end_at if one.resolved_at is None else min(one.resolved_at, end_at)),
            StretchKind.FIRING if one.is_open else StretchKind.OVER,
            one.subject.endpoint,
        )
        for one in alerts
        if one.fired_at is not None and not one.suppressed_by and one.fired_at < end_at
        and (one.resolved_at is None or one.resolved_at > start_at)
        and not (one.is_open and any(silence.covers(one, end_at) for silence in silences))
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda one: one.start))


def maintenance_stretches(
    silences: Sequence[Silence], start_at: float, end_at: float, owners: Sequence[tuple[str, str]]
) -> tuple[Stretch, ...]:
    """Maintenance windows of these endpoints within the window, as far as it goes; the oldest first.

    Args:
        owners: (cluster, endpoint).
    """
    found = []
    for one in silences:
        ends_at = one.ends_at if one.ended_at is None else min(one.ends_at, one.ended_at)
        if not one.is_maintenance or one.starts_at >= end_at or ends_at <= start_at:
            continue
        edges = _utc(one.starts_at), _utc(min(ends_at, end_at))
        found += [
            Stretch(*edges, StretchKind.MAINTENANCE, name)
            for cluster, name in owners
            if one.matchers.items() <= {"cluster": cluster, "endpoint": name}.items()
        ]
    return tuple(sorted(found, key=lambda one: one.start))


def merged(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """Of a kind, those that overlap as one, so that many alerts at a time are shaded once."""
    found: list[Stretch] = []
    for one in sorted(stretches, key=lambda each: (each.kind, each.start)):
        last = found[-1] if found else None
        if last is not None and last.kind is one.kind and one.start <= last.end:
            found[-1] = Stretch(last.start, max(last.end, one.end), one.kind, "")
        else:
            found.append(one)
    return tuple(found)


def _utc(at: float) -> pd.Timestamp:
    """In milliseconds, as charts take it."""
    return pd.Timestamp(round(1000 * at), unit="ms", tz="UTC")
