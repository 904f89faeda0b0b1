"""What the rounds at a window's edges say of its counts: which requests were open, and whether all are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, select

from db.clauses import by_series, limits, within
from db.dimensions import SeriesKey
from db.engine_reads import Uncounted
from db.schema import LEDGERS, series
from db.spans import Span
from tierdeck.account import ReplicaAccount
from tierdeck.resolution import Resolution

_FURTHEST_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Edges:
    """Of a window; `open_before`: requests open before its first round."""

    open_before: Mapping[SeriesKey, float]
    uncounted: Uncounted

    def put_on(self, account: ReplicaAccount, key: SeriesKey) -> ReplicaAccount:
        """The account with what its ledger does not tell by itself."""
        running, waiting = account.gauges.running, account.gauges.waiting
        ledger = replace(
            account.ledger,
            open_at_start=self.open_before.get(key),
            open_at_end=None if running is None or waiting is None else running + waiting,
            engine_covers=self.uncounted.covers(key, account.ledger.ended_at),
        )
        return replace(account, ledger=ledger)


def read_open(
    connection: Connection, at: float, back_seconds: float, whose: Sequence[ColumnElement[bool]]
) -> dict[SeriesKey, float]:
    """Requests running or waiting in the last round up to `at` that told both, of each replica that has one.

    Args:
        back_seconds: no older round is looked for; at most five minutes.
    """
    table = LEDGERS[Resolution.RAW]
    statement = (
        select(series.c.cluster, series.c.endpoint, series.c.replica, table.c.running, table.c.waiting)
        .select_from(by_series(table))
        .where(*within(table), *whose, table.c.running.is_not(None), table.c.waiting.is_not(None))
        .order_by(table.c.series_id, table.c.at)
    )
    span = Span(Resolution.RAW, at - min(back_seconds, _FURTHEST_SECONDS), at)
    rows = connection.execute(statement, limits(span))
    return {SeriesKey(row.cluster, row.endpoint, row.replica): row.running + row.waiting for row in rows}
