"""The L2 pool view's content: room and when it ends, what goes through, workers, mounts, chunks that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from console.alert_marks import Stretch, alert_stretches, merged
from console.headlines import Headline
from console.moments import Moment, event_rows, moments
from console.pool_figures import PoolFigures, PoolTold, flow, pool_figures, pool_name
from console.pool_headlines import pool_headlines
from console.pool_rows import MOUNT_GLYPHS, mount_rows, state_words, worker_rows, worker_state
from console.pool_sentences import orphan_words, reservations, trouble
from console.pool_walk import Absent, Walk, walk
from console.story import Span
from console.trends import bucket_seconds, complete
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.silence import Silence
from tierdeck.l2.fill import Fill, is_full
from tierdeck.l2.janitor_runs import JanitorRun

_LONGEST_LOOK_AHEAD = 1 / 3
"""Of the window: beyond it a forecast's line says nothing more."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Where the pool's content goes at the last hour's pace: a line between two instants (UTC), in bytes."""

    start: pd.Timestamp
    end: pd.Timestamp
    from_bytes: float
    to_bytes: float
    is_full: bool


@dataclass(frozen=True, slots=True)
class Around:
    """What happened around a pool: events of the window and the latest ones, alerts of the window, all silences, and
    the janitor's last rounds, the newest first, with the names of all pools that janitors told of.
    """

    events: pd.DataFrame
    latest: pd.DataFrame
    alerts: Sequence[Alert] = ()
    silences: Sequence[Silence] = ()
    runs: Sequence[JanitorRun] = ()
    told_of: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PoolPage:
    """Complete, with nothing left to compute.

    Attributes:
        room: `at`, `width_seconds`, `used_bytes`, `taken_bytes` (all that is not free), `capacity_bytes`.
        flow: `at`, `width_seconds`, `read_rate`, `written_rate` in bytes a second; NaN: not told.
        forecast: None where the pool does not fill.
        orphans: a sentence.
        trouble: what is wrong now, a sentence each.
        reservations: what makes the figures less than certain.
    """

    span: Span
    facts: str
    headlines: tuple[Headline, ...]
    room: pd.DataFrame
    flow: pd.DataFrame
    forecast: Forecast | None
    moments: tuple[Moment, ...]
    stretches: tuple[Stretch, ...]
    workers: pd.DataFrame
    worker_states: tuple[str, ...]
    mounts: pd.DataFrame
    mount_states: tuple[str, ...]
    orphans: str
    trouble: tuple[str, ...]
    reservations: tuple[str, ...]
    events: pd.DataFrame
    walk: Walk


def pool_page(span: Span, told: PoolTold, around: Around, stale_after_seconds: float) -> PoolPage:
    """From what the store told."""
    rates = flow(told.series, (span.start_at, min(span.end_at, span.last_at)), span.resolution)
    now = span.end_at
    found = pool_figures(told, rates, now, stale_after_seconds)
    width = bucket_seconds(told.series, span.resolution.value)
    stretches = merged(alert_stretches(around.alerts, span.start_at, span.end_at, around.silences))
    changes = _worker_changes(told.series, span)
    states = [worker_state(one, now, stale_after_seconds) for one in found.workers]
    healths = [(f"{MOUNT_GLYPHS[health.state]} {health.state}", health.state.meaning) for _, health in found.mounts]
    return PoolPage(
        span=span,
        facts=_facts(found),
        headlines=pool_headlines(found, span.window),
        room=_room(complete(told.series, width, span.start_at, span.last_at)),
        flow=rates[rates["is_whole"]].assign(
            width_seconds=width,
            read_rate=rates["read_bytes"] / rates["seconds"],
            written_rate=rates["written_bytes"] / rates["seconds"],
        ),
        forecast=_forecast(found.fill, found, span),
        moments=moments(span, around.events, None, stretches, changes),
        stretches=stretches,
        workers=worker_rows(found.workers, now, stale_after_seconds),
        worker_states=state_words(states),
        mounts=mount_rows(found.mounts, now),
        mount_states=state_words(healths),
        orphans=orphan_words(found.orphans, found.account.files),
        trouble=tuple(trouble(found, now, stale_after_seconds)),
        reservations=tuple(reservations(found)),
        events=event_rows(around.latest, span.end),
        walk=walk(around.runs, now, Absent(pool_name(told.key), around.told_of)),
    )


def _facts(found: PoolFigures) -> str:
    many = [f"{len(some)} {name}{'' if len(some) == 1 else 's'}" for name, some in
            (("worker", found.workers), ("mount", found.mounts))]  # fmt: skip
    return " · ".join((pool_name(found.key), f"cluster {found.key.cluster}", *many))


def _room(series: pd.DataFrame) -> pd.DataFrame:
    taken = series["capacity_bytes"] - series["available_bytes"]
    return series[["at", "width_seconds", "used_bytes", "capacity_bytes"]].assign(taken_bytes=taken)


def _forecast(fill: Fill, found: PoolFigures, span: Span) -> Forecast | None:
    capacity, available = found.account.capacity_bytes, found.account.available_bytes
    pace, left = fill.pace.value, fill.left_seconds.value
    if not fill.is_losing or pace is None or left is None or capacity is None or available is None:
        return None
    if is_full(available, found.account.live):
        return None
    ahead = min(left, span.window.seconds * _LONGEST_LOOK_AHEAD)
    taken = capacity - available
    begins = min(span.end, pd.Timestamp(round(1000 * span.last_at), unit="ms", tz="UTC"))
    return Forecast(
        begins, begins + pd.Timedelta(seconds=round(ahead)), taken, taken + pace * ahead, is_full=ahead == left
    )


def _worker_changes(series: pd.DataFrame, span: Span) -> list[Moment]:
    """Where a reading tells fewer workers than the one before, or more."""
    known = series[series["live"].notna()]
    steps = known["live"].diff()
    return [
        Moment(at, "worker away" if step < 0 else "worker back")
        for at, step in zip(known["at"], steps, strict=True)
        if abs(step) > 0 and span.start < at <= span.end
    ]
