"""Replicas of one endpoint over time as a DataFrame, each row through `tierdeck.split`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from db.clauses import by_series, scope
from db.frames import frame
from db.query import Query
from db.schema import LEDGERS, series
from tierdeck.fleet import FLEET
from tierdeck.ledger import COUNTS, TALLIES, TokenLedger
from tierdeck.split import split

if TYPE_CHECKING:
    import pandas as pd

FIGURES = ("prompt_tokens", "hit_ratio", "l0", "lower", "miss", "requests")
_EDGES = ("started_at", "ended_at")


def read_replica_series(connection: Connection, query: Query) -> pd.DataFrame:
    """Columns at, replica, FIGURES, restarts; in order of time."""
    table = LEDGERS[query.resolution]
    values = (table.c[name] for name in (*_EDGES, *COUNTS, *TALLIES))
    statement = (
        select(table.c.at, series.c.replica, *values)
        .select_from(by_series(table))
        .where(*query.rows(table), *scope(query.cluster, query.endpoint), series.c.replica != FLEET)
    )
    rows = sorted(connection.execute(statement).all(), key=lambda row: (row.at, row.replica))
    found = frame(map(_figures, rows), ("at", "replica", *FIGURES, "restarts"), numbers=FIGURES)
    return found.astype({"restarts": "int64"})


def _figures(row: Row[Any]) -> tuple[object, ...]:
    ledger = TokenLedger(**{name: value for name, value in row._mapping.items() if name not in ("at", "replica")})
    tiers = split(ledger)
    figures = (tiers.prompt_tokens, tiers.by_token, tiers.l0, tiers.lower, tiers.miss)
    return (row.at, row.replica, *(figure.value for figure in figures), ledger.requests, ledger.restarts)
