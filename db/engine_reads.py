"""Replicas of which vLLM's counts do not reach a window's edges: the first ones or the last ones could not be taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, func, select

from db.clauses import by_series, limits, scope, within
from db.dimensions import SeriesKey
from db.schema import LEDGERS, series
from db.spans import Span
from tierdeck.account import Answer
from tierdeck.resolution import Resolution

_TABLE = LEDGERS[Resolution.RAW]
_MOST_NAMES = 200
"""More are not told one by one: all are looked at."""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Rounds that read vLLM and took no counts, at the edges of a window.

    Attributes:
        begins_late: replicas whose first round that read vLLM is one, such as a baseline.
        last_at: of the last one of each replica.
    """

    begins_late: set[SeriesKey] = field(default_factory=set)
    last_at: dict[SeriesKey, float] = field(default_factory=dict)

    def covers(self, key: SeriesKey, ended_at: float) -> bool:
        """vLLM's counts reach from the window's first moment to its last one, which is `ended_at`."""
        return key not in self.begins_late and self.last_at.get(key) != ended_at


def read_uncounted(connection: Connection, window: Sequence[Span], names: Collection[str]) -> Uncounted:
    """Of a window, by its spans; an edge that is rolled up already tells nothing of the kind.

    Args:
        names: of the replicas to look at, those with a round that took no counts: mostly none.
    """
    found = Uncounted()
    some = [series.c.replica.in_(sorted(names))] if len(names) <= _MOST_NAMES else []
    for span in dict.fromkeys((window[0], window[-1])) if names else ():
        if span.resolution is not Resolution.RAW:
            continue
        for row in connection.execute(_statement().where(*scope(), *some), limits(span)):
            key = SeriesKey(row.cluster, row.endpoint, row.replica)
            found.last_at[key] = row.last_at
            if span is window[0] and not _is_counted(connection, row.series_id, span, row.first_at):
                found.begins_late.add(key)
    return found


def _statement() -> Select[Any]:
    at = _TABLE.c.at
    return (
        select(
            _TABLE.c.series_id,
            series.c.cluster,
            series.c.endpoint,
            series.c.replica,
            func.min(at).label("first_at"),
            func.max(at).label("last_at"),
        )
        .select_from(by_series(_TABLE))
        # the first round ever takes no time: it is a moment from which on all is counted
        .where(*within(_TABLE), _TABLE.c.engine_scrapes == 0, _TABLE.c.ended_at > _TABLE.c.started_at)
        .where(_TABLE.c.answer == Answer.ENGINE.value)
        .group_by(_TABLE.c.series_id, series.c.cluster, series.c.endpoint, series.c.replica)
    )


def _is_counted(connection: Connection, series_id: int, span: Span, before: float) -> bool:
    """Whether counts were taken in the span before an instant."""
    counted = (_TABLE.c.series_id == series_id, _TABLE.c.engine_scrapes > 0, _TABLE.c.at < before)
    statement = select(func.count()).select_from(_TABLE).where(*counted, _TABLE.c.at > span.first_at)
    return bool(connection.execute(statement).scalar_one())
