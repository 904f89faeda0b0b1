"""Lookups by cache salt (tenant) over a window."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from db.clauses import by_series, limits, rolled_at, scope, within
from db.schema import SALT_FIELDS, SALTS, salts
from db.spans import spans
from tierdeck.rounds import SaltCounts


def read_salt_counts(
    connection: Connection, start_at: float, end_at: float, cluster: str, endpoint: str
) -> dict[str, SaltCounts]:
    """Most lookups first."""
    totals: dict[str, list[float]] = {}
    for span in spans(start_at, end_at, rolled_at(connection)):
        table = SALTS[span.resolution]
        statement = (
            select(salts.c.salt, *(func.sum(table.c[name]) for name in SALT_FIELDS))
            .select_from(by_series(table))
            .join(salts, salts.c.id == table.c.salt_id)
            .where(*within(table), *scope(cluster, endpoint))
            .group_by(salts.c.salt)
        )
        for salt, *counts in connection.execute(statement, limits(span)):
            before = totals.get(salt, [0.0] * len(SALT_FIELDS))
            totals[salt] = [a + b for a, b in zip(before, counts, strict=True)]
    most_first = sorted(totals.items(), key=lambda item: (-item[1][0], item[0]))
    return {salt: SaltCounts(*counts) for salt, counts in most_first}
