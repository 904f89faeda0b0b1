"""Insert or replace by key, many rows at once: tuples go straight to the driver, since rounds come by the hundred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, Dialect, FromClause, Table
from sqlalchemy.dialects import postgresql, sqlite


def incoming(table: Table) -> FromClause:
    """The row that met one of the same key (`excluded` in SQL)."""
    return table.alias("excluded")


class Upsert:
    """One prepared statement per database; rows are tuples in the order of the table's columns.

    Args:
        merged: columns whose new value is not simply the incoming one.
        where: replace only then; else the stored row stays.
    """

    def __init__(
        self,
        table: Table,
        merged: Mapping[str, ColumnElement[object]] | None = None,
        where: ColumnElement[bool] | None = None,
    ) -> None:
        self.table = table
        self.columns = tuple(table.columns.keys())
        self._merged = merged or {}
        self._where = where
        self._compiled: dict[str, str] = {}

    def run(self, connection: Connection, rows: Sequence[tuple[object, ...]]) -> None:
        """Nothing happens without rows."""
        if not rows:
            return
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            self._compiled[dialect.name] = self._compile(dialect)
        connection.exec_driver_sql(self._compiled[dialect.name], list(rows))

    def _compile(self, dialect: Dialect) -> str:
        new, key = incoming(self.table), [column.name for column in self.table.primary_key]
        values = {name: self._merged.get(name, new.c[name]) for name in self.columns if name not in key}
        if dialect.name == "sqlite":
            lite = sqlite.insert(self.table).on_conflict_do_update(key, set_=values, where=self._where)
            return str(lite.compile(dialect=dialect))
        pg = postgresql.insert(self.table).on_conflict_do_update(index_elements=key, set_=values, where=self._where)
        return str(pg.compile(dialect=dialect))
