"""Whose hits can't be believed in a minute or in ten, since counters of one engine contradict each other."""

from __future__ import annotations

from sqlalchemy import Connection, and_, func, or_, select

from db.clauses import by_series
from db.schema import LEDGERS, series
from tierdeck.resolution import Resolution

_SHARE = 0.25
"""Of the prompt tokens: so far apart may counters of one page lie, as in `tierdeck.identities`."""


def read_doubted(connection: Connection, at: float, cluster: str | None) -> set[tuple[str, str]]:
    """Cluster and endpoint, where in the minute that begins at `at` this holds of some replica.

    Lookups stay 0 while prompt tokens are processed; L0 hits stay 0 while the engine counts cached tokens by tier;
    or counters fell without a new process, and were counted from 0.
    """
    found = _read(connection, Resolution.MINUTE, (at, at), cluster)
    return {(owner, endpoint) for _, owner, endpoint in found}


def read_doubted_buckets(
    connection: Connection, start_at: float, end_at: float, cluster: str | None
) -> set[tuple[float, str, str]]:
    """Start, cluster and endpoint of the buckets of 10 minutes in which it does, of those that begin in [start_at,
    end_at].
    """
    return _read(connection, Resolution.TEN_MINUTES, (start_at, end_at), cluster)


def _read(
    connection: Connection, resolution: Resolution, span: tuple[float, float], cluster: str | None
) -> set[tuple[float, str, str]]:
    rows = LEDGERS[resolution].c
    uncounted = rows.cached_by_source - func.coalesce(rows.external_hits, 0)
    contradicts = or_(
        rows.counter_resets > 0,
        and_(rows.prompt_tokens == 0, rows.processed_tokens > 0),
        and_(rows.prompt_tokens > 0, rows.l0_hits == 0, uncounted > _SHARE * rows.prompt_tokens),
    )
    statement = (
        select(rows.at, series.c.cluster, series.c.endpoint)
        .select_from(by_series(LEDGERS[resolution]))
        .where(rows.at >= span[0], rows.at <= span[1], contradicts)
        .distinct()
    )
    if cluster is not None:
        statement = statement.where(series.c.cluster == cluster)
    return {(float(at), owner, endpoint) for at, owner, endpoint in connection.execute(statement)}
