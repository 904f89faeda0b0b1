"""What was seen of a cluster: compared with what is remembered, and written with its events in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.codec import dump, load
from db.event_rows import write_events
from db.facts import dump_fact, load_deployed, load_node
from db.records import BlindPart, Sighted
from db.schema import blind, deployed, nodes, sighted
from db.upsert import Upsert
from tierdeck.deployed import Blind, Deployed, Node, Remembered, Sighting
from tierdeck.events import Event

Happened = Callable[[Remembered, Sighting], Sequence[Event]]
"""What happened between what is remembered and what is seen; pure."""

Key = tuple[str, ...]
OUT_OF_TURN_SECONDS = 600.0
"""A sighting that is older than the last one by no more than this came too late; by more, the clock was set back."""
_UPSERT = {table: Upsert(table) for table in (deployed, nodes)}
_UPSERT_BLIND = Upsert(blind, merged={"since_at": blind.c.since_at})


def sight(connection: Connection, seen: Sighting, happened: Happened) -> int | None:
    """How many events were new; None where a newer sighting has overtaken this one, which then changes nothing.

    Sightings of a cluster queue: SQLite's transaction has the whole file, on PostgreSQL the cluster's row
    in `sighted` is locked until the end.
    """
    is_first = _take_turn(connection, seen)
    last = select(sighted.c.at).where(sighted.c.cluster == seen.cluster).with_for_update()  # SQLite knows no such lock
    last_at: float = connection.execute(last).scalar_one()
    if 0 < last_at - seen.at <= OUT_OF_TURN_SECONDS:
        return None
    known = {table: _texts(connection, table, seen.cluster) for table in _UPSERT}
    before = Remembered(
        deployed={one.key: one for one in map(load_deployed, known[deployed].values())},
        nodes={one.name: one for one in map(load_node, known[nodes].values())},
        is_first=is_first,
        at=0.0 if is_first else min(last_at, seen.at),  # a clock that was set back makes nothing older than it is
    )
    new = write_events(connection, happened(before, seen), seen.at)
    wanted: dict[Table, dict[Key, str]] = {
        deployed: {one.key: dump_fact(one) for one in seen.deployed},
        nodes: {(seen.cluster, one.name): dump_fact(one) for one in seen.nodes},
    }
    for table, facts in wanted.items():
        _keep(connection, table, known[table], facts, seen.at)
    _keep_blind(connection, seen)
    told = {"at": seen.at, "unknown_kinds": dump(list(seen.unknown_kinds))}
    connection.execute(update(sighted).where(sighted.c.cluster == seen.cluster).values(told))
    return new


def tell(connection: Connection, cluster: str, happened: Sequence[Event], seen_at: float) -> int:
    """How many events were new; where the cluster was ever seen, they queue with its sightings."""
    connection.execute(select(sighted.c.at).where(sighted.c.cluster == cluster).with_for_update())
    return write_events(connection, happened, seen_at)


def read_deployed(connection: Connection, cluster: str | None) -> list[Deployed]:
    """By cluster, endpoint and name."""
    return [load_deployed(text) for text in _texts(connection, deployed, cluster).values()]


def read_nodes(connection: Connection, cluster: str | None) -> list[Node]:
    """By cluster and name."""
    return [load_node(text) for text in _texts(connection, nodes, cluster).values()]


def read_blind(connection: Connection, cluster: str | None) -> list[BlindPart]:
    """By cluster and resource."""
    statement = select(blind).where(*_of(blind, cluster)).order_by(blind.c.cluster, blind.c.what)
    rows = connection.execute(statement)
    return [BlindPart(row.cluster, Blind(row.what, row.reason, row.fix), row.since_at) for row in rows]


def read_sighted(connection: Connection, cluster: str | None) -> list[Sighted]:
    """By cluster."""
    statement = select(sighted).where(*_of(sighted, cluster)).order_by(sighted.c.cluster)
    return [Sighted(row.cluster, row.at, tuple(load(row.unknown_kinds))) for row in connection.execute(statement)]


def _take_turn(connection: Connection, seen: Sighting) -> bool:
    """Wait for the sighting of the same cluster that is under way; True where there was none before."""
    values = {"cluster": seen.cluster, "at": seen.at, "unknown_kinds": "[]"}
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    make = dialect.insert(sighted).values(values).on_conflict_do_nothing().returning(sighted.c.at)
    return connection.execute(make).first() is not None


def _texts(connection: Connection, table: Table, cluster: str | None) -> dict[Key, str]:
    """Facts by key."""
    keys = list(table.primary_key.columns)
    rows = connection.execute(select(*keys, table.c.facts).where(*_of(table, cluster)).order_by(*keys))
    return {tuple(row[:-1]): row[-1] for row in rows}


def _keep(connection: Connection, table: Table, known: Mapping[Key, str], wanted: Mapping[Key, str], at: float) -> None:
    """Write what changed, delete what is gone."""
    changed = [(*key, text, at) for key, text in wanted.items() if known.get(key) != text]
    _UPSERT[table].run(connection, changed)
    for key in known.keys() - wanted.keys():
        is_it = (column == part for column, part in zip(table.primary_key.columns, key, strict=True))
        connection.execute(delete(table).where(and_(*is_it)))


def _keep_blind(connection: Connection, seen: Sighting) -> None:
    """Since when it can't be seen stays as long as it can't."""
    _UPSERT_BLIND.run(connection, [(seen.cluster, one.what, one.reason, one.fix, seen.at) for one in seen.blind])
    others = blind.c.what.not_in([one.what for one in seen.blind])
    connection.execute(delete(blind).where(blind.c.cluster == seen.cluster, others))


def _of(table: Table, cluster: str | None) -> list[ColumnElement[bool]]:
    return [] if cluster is None else [table.c.cluster == cluster]
