"""The channels that the alerting process can send to, so that others can name them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from db.alert_schema import channels


def write_channels(connection: Connection, names: Sequence[tuple[str, str]]) -> None:
    """Exactly these (name, kind), in their order."""
    connection.execute(delete(channels))
    rows = [{"name": name, "kind": kind, "position": position} for position, (name, kind) in enumerate(names)]
    if rows:
        connection.execute(insert(channels), rows)


def read_channels(connection: Connection) -> list[tuple[str, str]]:
    """In the order declared."""
    rows = connection.execute(select(channels.c.name, channels.c.kind).order_by(channels.c.position))
    return [(row.name, row.kind) for row in rows]
