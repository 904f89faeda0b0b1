"""The channels that each cluster's alerting process can send to, so that others can name them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from db.alert_schema import channels
from tierdeck.alerts.notice import Way


def write_channels(connection: Connection, cluster: str, names: Sequence[tuple[str, str]]) -> None:
    """Of this cluster exactly these (name, kind), in their order; other clusters' stay."""
    connection.execute(delete(channels).where(channels.c.cluster == cluster))
    rows = [
        {"cluster": cluster, "name": name, "kind": kind, "position": position}
        for position, (name, kind) in enumerate(names)
    ]
    if rows:
        connection.execute(insert(channels), rows)


def read_channels(connection: Connection) -> list[Way]:
    """By cluster, in the order declared."""
    columns = (channels.c.cluster, channels.c.name, channels.c.kind)
    rows = connection.execute(select(*columns).order_by(channels.c.cluster, channels.c.position))
    return [Way(row.cluster, row.name, row.kind) for row in rows]
