"""Whose hits can't be believed in a minute, since counters of one engine contradict each other."""

from __future__ import annotations

from sqlalchemy import Connection, and_, func, or_, select

from db.clauses import by_series
from db.schema import LEDGERS, series
from tierdeck.resolution import Resolution

_SHARE = 0.25
"""Of the prompt tokens: so far apart may counters of one page lie, as in `tierdeck.identities`."""
_ROWS = LEDGERS[Resolution.MINUTE].c


def read_doubted(connection: Connection, at: float, cluster: str | None) -> set[tuple[str, str]]:
    """Cluster and endpoint, where in the minute that begins at `at` this holds of some replica.

    Lookups stay 0 while prompt tokens are processed; L0 hits stay 0 while the engine counts cached tokens by tier;
    or counters fell without a new process, and were counted from 0.
    """
    uncounted = _ROWS.cached_by_source - func.coalesce(_ROWS.external_hits, 0)
    contradicts = or_(
        _ROWS.counter_resets > 0,
        and_(_ROWS.prompt_tokens == 0, _ROWS.processed_tokens > 0),
        and_(_ROWS.prompt_tokens > 0, _ROWS.l0_hits == 0, uncounted > _SHARE * _ROWS.prompt_tokens),
    )
    statement = (
        select(series.c.cluster, series.c.endpoint)
        .select_from(by_series(LEDGERS[Resolution.MINUTE]))
        .where(_ROWS.at == at, contradicts)
        .distinct()
    )
    if cluster is not None:
        statement = statement.where(series.c.cluster == cluster)
    return {(owner, endpoint) for owner, endpoint in connection.execute(statement)}
