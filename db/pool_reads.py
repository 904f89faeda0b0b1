"""The shared pools: the newest reading of each, and their history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Select, func, select

from db.clauses import by_series
from db.frames import frame
from db.query import Query
from db.records import PoolNow
from db.schema import POOL_FIELDS, POOLS, series
from tierdeck.account import PoolAccount
from tierdeck.fleet import ReplicaKey
from tierdeck.resolution import Resolution

if TYPE_CHECKING:
    import pandas as pd


def read_pool_now(connection: Connection, cluster: str | None) -> list[PoolNow]:
    """By key; pools whose raw readings are all pruned are left out."""
    table = POOLS[Resolution.RAW]
    newest = table.alias()
    last = select(func.max(newest.c.at)).where(newest.c.series_id == series.c.id).scalar_subquery()
    statement = _of(
        select(series.c.cluster, series.c.endpoint, series.c.replica, table)
        .select_from(by_series(table))
        .where(table.c.at == last)
        .order_by(series.c.cluster, series.c.endpoint, series.c.replica),
        cluster,
    )
    return [_pool(row) for row in connection.execute(statement)]


def _pool(row: Row[Any]) -> PoolNow:
    account = PoolAccount(**{name: row._mapping[name] for name in (*POOL_FIELDS, "reason")})
    return PoolNow(ReplicaKey(row.cluster, row.endpoint, row.replica), row.at, account)


def read_pool_series(connection: Connection, query: Query) -> pd.DataFrame:
    """Columns at, cluster, endpoint, pool, POOL_FIELDS, reason; in order of time."""
    table = POOLS[query.resolution]
    values = (table.c[name] for name in (*POOL_FIELDS, "reason"))
    statement = _of(
        select(table.c.at, series.c.cluster, series.c.endpoint, series.c.replica.label("pool"), *values)
        .select_from(by_series(table))
        .where(*query.rows(table))
        .order_by(table.c.at, series.c.id),
        query.cluster,
    )
    names = [column.name for column in statement.selected_columns]
    return frame(connection.execute(statement), names, numbers=POOL_FIELDS)


def _of(statement: Select[Any], cluster: str | None) -> Select[Any]:
    return statement if cluster is None else statement.where(series.c.cluster == cluster)
