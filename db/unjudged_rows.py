"""Times in which no rule of a cluster was judged: noted when judging goes on."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from db.alert_schema import unjudged
from db.upsert import Upsert

Span = tuple[str, float, float]
"""Cluster, from when, until when."""
_NOTED = Upsert(unjudged)


def write_unjudged(connection: Connection, one: Span) -> None:
    """The same beginning twice is the same span."""
    _NOTED.run(connection, [one])


def read_unjudged(connection: Connection, start_at: float, end_at: float) -> list[Span]:
    """Those that reach into [start_at, end_at], the oldest first."""
    columns = (unjudged.c.cluster, unjudged.c.start_at, unjudged.c.end_at)
    wanted = (unjudged.c.start_at < end_at, unjudged.c.end_at > start_at)
    rows = connection.execute(select(*columns).where(*wanted).order_by(unjudged.c.start_at, unjudged.c.cluster))
    return [(row.cluster, row.start_at, row.end_at) for row in rows]


def prune_unjudged(connection: Connection, before: float) -> int:
    """How many that ended before were deleted."""
    return connection.execute(delete(unjudged).where(unjudged.c.end_at < before)).rowcount
