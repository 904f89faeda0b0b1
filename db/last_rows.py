"""The rows that decide what no sum can tell: the last ones, those of older gauges, the restarts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, TextClause, text

from db.ledger_rows import SINCE
from db.schema import LEDGERS
from tierdeck.account import GAUGE_FIELDS
from tierdeck.resolution import Resolution

LAST = ("stores_in_flight", "model_id", *GAUGE_FIELDS)
"""Columns of which the last value counts that is not NULL; `<column>_at` is its row's `at` in merged rows."""
_KEYS_PER_QUERY = (16, 500)

RowKey = tuple[int, float]
"""Series and `at`."""


def deciding_rows(merged: Iterable[Row[Any]]) -> list[RowKey]:
    """The rows whose own values count: the last ones, those of older gauges, the restarts."""
    found: dict[RowKey, None] = {}
    for row in merged:
        values = row._mapping
        for at in (row.last_at, row.restart_at, *(values[f"{name}_at"] for name in LAST)):
            if at is not None:
                found[row.series_id, at] = None
    return list(found)


def read_rows(connection: Connection, resolution: Resolution, keys: Sequence[RowKey]) -> dict[RowKey, Row[Any]]:
    """Columns series_id, at, answer, LAST and SINCE."""
    found = {}
    for start in range(0, len(keys), _KEYS_PER_QUERY[-1]):
        some = keys[start : start + _KEYS_PER_QUERY[-1]]
        size = next(size for size in _KEYS_PER_QUERY if size >= len(some))
        padded = [*some, *[some[-1]] * (size - len(some))]
        values: dict[str, float] = {f"s{n}": series_id for n, (series_id, _) in enumerate(padded)}
        values |= {f"a{n}": at for n, (_, at) in enumerate(padded)}
        for row in connection.execute(_lookup(resolution, size), values):
            found[row.series_id, row.at] = row
    return found


@cache
def _lookup(resolution: Resolution, size: int) -> TextClause:
    """Rows by key, that many at once; written out, since composing thousands of parameters anew is slow.

    CROSS JOIN, since SQLite would walk through the whole table for a list of pairs.
    """
    table = LEDGERS[resolution].name
    keys = ", ".join(f"(:s{n}, :a{n})" for n in range(size))
    columns = ", ".join(f"{table}.{name}" for name in ("series_id", "at", "answer", *LAST, *SINCE))
    return text(
        f"WITH wanted(series_id, at) AS (VALUES {keys}) SELECT {columns} FROM wanted CROSS JOIN {table}"  # noqa: S608
        f" WHERE {table}.series_id = wanted.series_id AND {table}.at = wanted.at"
    )
