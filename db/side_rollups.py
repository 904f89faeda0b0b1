"""Salts and pools rolled up inside the database: sums of the one, last values of the other."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Double, Label, Table, and_, bindparam, func, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import Select

from db.clauses import bucket, by_series, limits, within
from db.schema import POOL_FIELDS, POOLS, SALT_FIELDS, SALTS
from db.spans import Span
from db.upsert import incoming
from tierdeck.resolution import Resolution

BY_START = literal_column("start", Double)


def has_sides(connection: Connection, span: Span) -> bool:
    """There is anything to roll up."""
    for table in (SALTS[span.resolution], POOLS[span.resolution]):
        one = select(table.c.at).select_from(by_series(table)).where(*within(table)).limit(1)
        if connection.execute(one, limits(span)).first() is not None:
            return True
    return False


def roll_up_salts(connection: Connection, span: Span, resolution: Resolution) -> None:
    """A sum never shrinks: where rows beneath were pruned, the row stays."""
    finer, coarse = SALTS[span.resolution], SALTS[resolution]
    rows = (
        select(finer.c.series_id, finer.c.salt_id, _start(finer), *(func.sum(finer.c[name]) for name in SALT_FIELDS))
        .select_from(by_series(finer))
        .where(*within(finer))
        .group_by(finer.c.series_id, finer.c.salt_id, BY_START)
    )
    where = incoming(coarse).c.lookup_tokens >= coarse.c.lookup_tokens
    _insert(connection, coarse, rows, where, _parameters(span, resolution))


def roll_up_pools(connection: Connection, span: Span, resolution: Resolution) -> None:
    """The last reading of each bucket."""
    finer, coarse = POOLS[span.resolution], POOLS[resolution]
    last = (
        select(finer.c.series_id, _start(finer), func.max(finer.c.at).label("at"))
        .select_from(by_series(finer))
        .where(*within(finer))
        .group_by(finer.c.series_id, BY_START)
        .subquery()
    )
    same = and_(finer.c.series_id == last.c.series_id, finer.c.at == last.c.at)
    values = (finer.c[name] for name in (*POOL_FIELDS, "reason"))
    rows = select(last.c.series_id, last.c.start, *values).join_from(last, finer, same).where(finer.c.at > 0)
    _insert(connection, coarse, rows, None, _parameters(span, resolution))


def _start(table: Table) -> Label[float]:
    """Start of the row's bucket."""
    back: ColumnElement[Any] = (bucket(table).element + 1) * bindparam("width", type_=Double)
    return (bindparam("end_at", type_=Double) - back).label("start")


def _parameters(span: Span, resolution: Resolution) -> dict[str, float]:
    return {**limits(span, float(resolution.value)), "end_at": span.end_at}


def _insert(
    connection: Connection,
    table: Table,
    rows: Select[Any],
    where: ColumnElement[bool] | None,
    parameters: dict[str, float],
) -> None:
    new, names, key = incoming(table), list(table.columns.keys()), [column.name for column in table.primary_key]
    values = {name: new.c[name] for name in names if name not in key}
    if connection.dialect.name == "sqlite":
        lite = sqlite.insert(table).from_select(names, rows)
        connection.execute(lite.on_conflict_do_update(key, set_=values, where=where), parameters)
    else:
        pg = postgresql.insert(table).from_select(names, rows)
        upsert = pg.on_conflict_do_update(index_elements=key, set_=values, where=where)
        connection.execute(upsert, parameters)
