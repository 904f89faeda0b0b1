"""Histograms of a span added up: joined by SQL per series, bucket and layout, summed as arrays here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from sqlalchemy import ColumnElement, Connection, Integer, Select, cast, func, select

from db.clauses import BY_BUCKET, bucket, by_series, limits, within
from db.codec import add_up
from db.schema import HISTOGRAMS, LEDGERS
from db.spans import Span
from tierdeck.histogram import Histogram
from tierdeck.resolution import Resolution

Group = tuple[int, int]
"""Series and index of the bucket."""


def empty_histogram(bounds: tuple[float, ...]) -> Histogram:
    """Exported, and nothing observed."""
    return Histogram(bounds, (0.0,) * (len(bounds) + 1))


def read_histograms(
    connection: Connection,
    span: Span,
    scope: Sequence[ColumnElement[bool]],
    layouts: Mapping[int, tuple[float, ...]],
    width: float = 0.0,
) -> dict[Group, Histogram]:
    """The merged TTFT of each series and bucket with observations."""
    statement = _statement(span.resolution, is_bucketed=bool(width)).where(*scope)
    found: dict[Group, Histogram] = {}
    for row in connection.execute(statement, limits(span, width)):
        group = (row.series_id, row.bucket)
        bounds = layouts[row.layout_id]
        part = Histogram(bounds, add_up(row.counts, len(bounds) + 1), row.sum, bool(row.differ))
        found[group] = found[group] + part if group in found else part
    return found


def read_layouts_in_use(
    connection: Connection, span: Span, scope: Sequence[ColumnElement[bool]], width: float = 0.0
) -> dict[Group, list[int]]:
    """All layouts of each series and bucket, with observations or without."""
    table = LEDGERS[span.resolution]
    statement = (
        select(table.c.series_id, bucket(table, is_bucketed=bool(width)), table.c.ttft_layout_id)
        .select_from(by_series(table))
        .where(*within(table), *scope, table.c.ttft_layout_id.is_not(None))
        .distinct()
    )
    found: dict[Group, list[int]] = {}
    for row in connection.execute(statement, limits(span, width)):
        found.setdefault((row.series_id, row.bucket), []).append(row.ttft_layout_id)
    return found


@cache
def _statement(resolution: Resolution, *, is_bucketed: bool) -> Select[tuple[int, int, int, str, float, int]]:
    table = HISTOGRAMS[resolution]
    groups = (table.c.series_id, *([BY_BUCKET] if is_bucketed else []), table.c.layout_id)
    return (
        select(
            table.c.series_id,
            bucket(table, is_bucketed=is_bucketed),
            table.c.layout_id,
            func.aggregate_strings(table.c.counts, ",").label("counts"),
            func.sum(table.c["sum"]).label("sum"),
            func.sum(cast(table.c.layouts_differ, Integer)).label("differ"),
        )
        .select_from(by_series(table))
        .where(*within(table), table.c.metric == "ttft")
        .group_by(*groups)
    )
