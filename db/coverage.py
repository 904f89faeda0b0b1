"""How much time the tokens of a bucket took: more than its width where a round told of the time before it, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from db.clauses import by_series, scope
from db.parts import Part
from db.query import Query
from db.schema import LEDGERS, series
from tierdeck.fleet import FLEET
from tierdeck.resolution import Resolution

_LEAST = 1.5
"""In bucket widths; rounds are not punctual to the second."""

Bucket = tuple[float, str, str]
"""Start in epoch seconds, cluster, endpoint."""


@dataclass(frozen=True, slots=True)
class Reach:
    """One replica's tokens in one bucket that took longer than the bucket; `seconds` in all."""

    bucket: Bucket
    tokens: float
    seconds: float


def reaches_of(parts: Iterable[Part], width: float) -> list[Reach]:
    """Those among parts of buckets of that width."""
    found = []
    for part in parts:
        seconds = part.ledger.ended_at - part.ledger.started_at
        if part.ledger.prompt_tokens and seconds > _LEAST * width and part.key.replica != FLEET:
            bucket = (part.at, part.key.cluster, part.key.endpoint)
            found.append(Reach(bucket, part.ledger.prompt_tokens, seconds))
    return found


def read_reaches(connection: Connection, query: Query) -> list[Reach]:
    """Those among rolled-up rows: the few that a gap left behind; hours are hardly ever reached over."""
    if query.resolution is Resolution.HOUR:
        return []
    table = LEDGERS[query.resolution]
    seconds = table.c.ended_at - table.c.started_at
    statement = (
        select(table.c.at, series.c.cluster, series.c.endpoint, table.c.prompt_tokens, seconds)
        .select_from(by_series(table))
        .where(*query.rows(table), *scope(query.cluster, query.endpoint), series.c.replica != FLEET)
        .where(seconds > _LEAST * query.resolution.value, table.c.prompt_tokens > 0)
    )
    return [
        Reach((at, cluster, name), tokens, took) for at, cluster, name, tokens, took in connection.execute(statement)
    ]


def covers(
    buckets: Sequence[Bucket], tokens: Sequence[float | None], reaches: Iterable[Reach], width: float
) -> list[float]:
    """Of each bucket, by how many widths its tokens are to be divided for its rate; 1 where none reaches back.

    A replica's tokens are spread evenly over the time that they took.
    """
    outside: dict[Bucket, float] = {}
    for one in reaches:
        outside[one.bucket] = outside.get(one.bucket, 0.0) + one.tokens * (1 - width / one.seconds)
    found = []
    for bucket, whole in zip(buckets, tokens, strict=True):
        inside = (whole or 0.0) - outside.get(bucket, 0.0)
        found.append(whole / inside if whole and inside > 0 else 1.0)
    return found
