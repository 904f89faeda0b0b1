"""Events: written once each, read newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from db.codec import dump, load
from db.frames import frame
from db.schema import events
from tierdeck.events import Event, EventKind

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("at", "cluster", "endpoint", "replica", "kind", "subject", "words", "detail")
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events, of (start_at, end_at]; None: any."""

    start_at: float
    end_at: float
    cluster: str | None = None
    endpoints: Collection[str] | None = None
    kinds: Collection[EventKind] | None = None
    limit: int = 500

    def conditions(self) -> list[ColumnElement[bool]]:
        found = [events.c.at > self.start_at, events.c.at <= self.end_at]
        if self.cluster is not None:
            found.append(events.c.cluster == self.cluster)
        if self.endpoints is not None:
            found.append(events.c.endpoint.in_(self.endpoints))
        if self.kinds is not None:
            found.append(events.c.kind.in_([kind.value for kind in self.kinds]))
        return found


def write_events(connection: Connection, happened: Iterable[Event], seen_at: float) -> int:
    """How many were new; nobody else writes events of their cluster meanwhile."""
    fresh: dict[tuple[str, str], Event] = {}
    for one in happened:
        fresh.setdefault((one.cluster, one.key), one)
    known: set[tuple[str, str]] = set()
    remaining = iter(fresh)
    while some := list(islice(remaining, _AT_ONCE)):
        clusters, keys = ({part[index] for part in some} for index in (0, 1))
        found = select(events.c.cluster, events.c.key).where(events.c.cluster.in_(clusters), events.c.key.in_(keys))
        known |= {(cluster, key) for cluster, key in connection.execute(found)}
    rows = [
        {
            "cluster": one.cluster,
            "endpoint": one.endpoint,
            "replica": one.replica,
            "at": one.at,
            "kind": one.kind.value,
            "subject": one.subject,
            "words": one.words,
            "detail": dump(dict(one.detail)),
            "key": one.key,
            "seen_at": seen_at,
        }
        for name, one in fresh.items()
        if name not in known
    ]
    if rows:
        connection.execute(insert(events), rows)
    return len(rows)


def read_events(connection: Connection, wanted: Wanted) -> pd.DataFrame:
    """The newest first; `detail` as dicts."""
    statement = select(*(events.c[name] for name in COLUMNS)).where(*wanted.conditions())
    newest = statement.order_by(events.c.at.desc(), events.c.id.desc()).limit(wanted.limit)
    return frame([(*row[:-1], load(row[-1])) for row in connection.execute(newest)], COLUMNS)


def prune_events(connection: Connection, before: float) -> int:
    """How many were deleted."""
    return connection.execute(delete(events).where(events.c.at < before)).rowcount
