"""SQL that the reads of time series share: whose rows, of which span, in which bucket."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Integer,
    Join,
    Label,
    Table,
    bindparam,
    cast,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from db.schema import series, watermarks
from db.spans import Span
from tierdeck.fleet import POOL

ROLLUP = "rollup"
"""Name of the watermark: the `now` of the last roll-up."""
BY_BUCKET = literal_column("bucket", Integer)
"""What to group by for `bucket`: its expression is another one each time, since it has parameters."""


def rolled_at(connection: Connection) -> float | None:
    """How far the roll-up has come; None: never ran."""
    return watermark(connection, ROLLUP)


def watermark(connection: Connection, name: str) -> float | None:
    """A named instant; None: it was never set."""
    found: float | None = connection.execute(select(watermarks.c.at).where(watermarks.c.name == name)).scalar()
    return found


def watermarks_of(connection: Connection, beginning: str) -> dict[str, float]:
    """Those whose names begin so."""
    wanted = watermarks.c.name.startswith(beginning, autoescape=True)
    rows = connection.execute(select(watermarks.c.name, watermarks.c.at).where(wanted))
    return {row.name: row.at for row in rows}


def by_series(table: Table) -> Join:
    """Rows found series by series, each one's by key.

    The added 0 keeps SQLite's planner from walking through the rows of all times instead.
    """
    return series.join(table, table.c.series_id == series.c.id + literal_column("0", Integer))


def scope(cluster: str | None = None, endpoint: str | None = None) -> list[ColumnElement[bool]]:
    """Conditions on whose rows are read: all replicas of everything by default, pools never."""
    conditions = [series.c.endpoint != POOL, series.c.replica != ""]
    if cluster is not None:
        conditions.append(series.c.cluster == cluster)
    if endpoint is not None:
        conditions.append(series.c.endpoint == endpoint)
    return conditions


def within(table: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The rows of a span; bind them with `limits`."""
    return table.c.at > bindparam("first_at"), table.c.at <= bindparam("last_at")


def bucket(table: Table, *, is_bucketed: bool = True) -> Label[int]:
    """Which bucket of the span a row belongs to, counted back from the span's end; bind it with `limits`."""
    if not is_bucketed:
        return literal(0).label("bucket")
    back: ColumnElement[Any] = bindparam("last_at", type_=Double) - table.c.at
    return whole(back / bindparam("width", type_=Double)).label("bucket")


def limits(span: Span, width: float = 0.0) -> dict[str, float]:
    """Parameters of `within` and `bucket`; width 0: the span is one bucket."""
    return {"first_at": span.first_at, "last_at": span.last_at, **({"width": width} if width else {})}


class whole(FunctionElement[int]):  # noqa: N801  # reads as the SQL function that it is
    """The whole part of a number that is not negative, on both databases."""

    type = Integer()
    name = "whole"
    inherit_cache = True


@compiles(whole, "sqlite")
def _whole_sqlite(element: whole, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(cast(element.clauses.clauses[0], Integer), **options)


@compiles(whole, "postgresql")
def _whole_postgresql(element: whole, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(cast(func.floor(element.clauses.clauses[0]), Integer), **options)
