"""Rows past their retention deleted, in transactions short enough that collectors hardly wait."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, exists, func, select

from db.alert_rows import prune_alerts
from db.database import Database
from db.event_rows import prune_events
from db.janitor_rows import prune_runs
from db.member_rows import forget_members
from db.notice_rows import prune_notices
from db.proof_rows import prune_proofs
from db.schema import (
    ENDPOINTS,
    HISTOGRAMS,
    LEDGERS,
    POOLS,
    SALTS,
    memories,
    processes,
    salts,
    scrapes,
    series,
    watermarks,
)
from db.silence_rows import prune_silences
from db.status import SIGNED_OFF
from db.unjudged_rows import prune_unjudged
from tierdeck.resolution import ROLLUPS, Resolution

_EVENTS = (prune_events, prune_runs, prune_proofs)
_ALERTS = (prune_alerts, prune_notices, prune_silences, prune_unjudged)
_SERIES_PER_BATCH = 50
_ROWS_PER_SERIES = 1000
_RAW_STEP_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Kept:
    """For how long, in seconds; None: for ever."""

    by_resolution: Mapping[Resolution, int]
    events: int | None
    alerts: int | None


def prune(database: Database, now: float, kept: Kept) -> int:
    """Rows deleted; forgets series, salts, memories and heartbeats without rows."""
    deleted = 0
    with database.read() as connection:
        ids = list(connection.execute(select(series.c.id).order_by(series.c.id)).scalars())
    for resolution, seconds in kept.by_resolution.items():
        for table in _tables(resolution):
            for batch in _batches(ids):
                deleted += _prune(database, table, batch, now - seconds, resolution.value or _RAW_STEP_SECONDS)
    for seconds_kept, some in ((kept.events, _EVENTS), (kept.alerts, _ALERTS)):
        if seconds_kept is not None:
            with database.write() as connection:
                deleted += sum(one(connection, now - seconds_kept) for one in some)
    _forget(database, now - kept.by_resolution[Resolution.RAW])
    return deleted


def _tables(resolution: Resolution) -> list[Table]:
    families = (LEDGERS, HISTOGRAMS, SALTS, POOLS)
    own = [family[resolution] for family in families]
    return [*own, ENDPOINTS[resolution]] if resolution in ENDPOINTS else own


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _SERIES_PER_BATCH):
        yield ids[start : start + _SERIES_PER_BATCH]


def _prune(database: Database, table: Table, ids: Sequence[int], before: float, step_seconds: float) -> int:
    """Some series of one table, a bounded stretch of time per transaction."""
    deleted = 0
    old = table.c.series_id.in_(ids) & (table.c.at < before)
    while True:
        with database.read() as connection:
            first: float | None = connection.execute(select(func.min(table.c.at)).where(old)).scalar()
        if first is None:
            return deleted
        until = min(before, first + _ROWS_PER_SERIES * step_seconds)
        with database.write() as connection:
            deleted += connection.execute(delete(table).where(old, table.c.at < until)).rowcount


def _forget(database: Database, before: float) -> None:
    """What no row needs any more. A collector that still writes to such a series makes it anew."""
    with database.write() as connection:
        connection.execute(delete(memories).where(memories.c.at < before))
        forget_members(connection, before)
        connection.execute(delete(scrapes).where(scrapes.c.last_attempt_at < before))
        connection.execute(delete(processes).where(processes.c.beat_at < before))
        ended = watermarks.c.name.startswith(SIGNED_OFF, autoescape=True)
        connection.execute(delete(watermarks).where(ended, watermarks.c.at < before))
        _delete_unused(connection)


def _delete_unused(connection: Connection) -> None:
    tables = [table for resolution in (Resolution.RAW, *ROLLUPS) for table in _tables(resolution)]
    in_use = [exists().where(table.c.series_id == series.c.id) for table in tables]
    connection.execute(delete(series).where(*(~one for one in in_use)))
    salted = [exists().where(table.c.salt_id == salts.c.id) for table in SALTS.values()]
    connection.execute(delete(salts).where(*(~one for one in salted)))
