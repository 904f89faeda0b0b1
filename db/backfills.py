"""How far back-fills have come."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.schema import backfills
from db.upsert import Upsert
from tierdeck.backfill import Backfill

_UPSERT = Upsert(backfills)


def write_backfill(connection: Connection, one: Backfill) -> None:
    """The newest word on a back-fill; one per cluster and source."""
    _UPSERT.run(connection, [(one.cluster, one.source, one.start_at, one.end_at, one.done_at, one.told_at)])


def read_backfills(connection: Connection, cluster: str | None) -> list[Backfill]:
    """The one told last comes first."""
    statement = select(backfills).order_by(backfills.c.told_at.desc())
    if cluster is not None:
        statement = statement.where(backfills.c.cluster == cluster)
    return [Backfill(*row) for row in connection.execute(statement)]
