"""Rows of ledgers merged by SQL: one part per series and bucket, with the semantics of `TokenLedger.then`.

Sums are SQL's own (NULL is skipped: not observed). What the first or the last row decides is found
by the instants of those rows, which the same query tells, and then read by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, or_, select

from db.clauses import BY_BUCKET, bucket, by_series, limits, within
from db.codec import load_notes
from db.dimensions import SeriesKey, read_layouts, read_models
from db.histograms import Group, empty_histogram, read_histograms, read_layouts_in_use
from db.last_rows import LAST, deciding_rows, read_rows
from db.ledger_rows import SINCE
from db.schema import LEDGERS, series
from db.spans import Span, bucket_start
from tierdeck.account import GAUGE_FIELDS, Answer, Gauges
from tierdeck.histogram import Histogram
from tierdeck.ledger import COUNTS, TALLIES, TokenLedger
from tierdeck.notes import Note
from tierdeck.resolution import Resolution


@dataclass(frozen=True, slots=True)
class Part:
    """One series in one bucket. `at`: the bucket's start; `last_at`: its newest row's own `at`."""

    series_id: int
    key: SeriesKey
    at: float
    last_at: float
    rounds: int
    ledger: TokenLedger
    answer: Answer
    gauges: Gauges
    ttft: Histogram | None
    models: frozenset[str]
    """The first and the last that were served; `model` is the last."""
    model: str


def read_parts(
    connection: Connection, span: Span, whose: Sequence[ColumnElement[bool]], width: float = 0.0
) -> list[Part]:
    """Every series with rows in the span, by id and time.

    Args:
        width: of the buckets in seconds, which divides the span; 0: the span is one bucket.
    """
    statement = _statement(span.resolution, is_bucketed=bool(width)).where(*whose)
    merged = connection.execute(statement, limits(span, width)).all()
    if not merged:
        return []
    context = _Context(connection, span, whose, width, merged)
    return [context.part(row) for row in sorted(merged, key=lambda row: (row.series_id, -row.bucket))]


class _Context:
    """What the parts of one span need besides their merged rows."""

    def __init__(
        self,
        connection: Connection,
        span: Span,
        whose: Sequence[ColumnElement[bool]],
        width: float,
        merged: Sequence[Row[Any]],
    ) -> None:
        self._connection, self._span, self._width = connection, span, width
        self._layouts, self._models = read_layouts(connection), read_models(connection)
        self._ttft = read_histograms(connection, span, whose, self._layouts, width)
        several = any(row.first_layout != row.last_layout for row in merged)
        self._in_use = read_layouts_in_use(connection, span, whose, width) if several else {}
        self._notes = _read_notes(connection, span, whose, width)
        self._rows = read_rows(connection, span.resolution, deciding_rows(merged))

    def part(self, row: Row[Any]) -> Part:
        values = row._asdict()
        lasts = {name: self._last(row.series_id, name, values[f"{name}_at"]) for name in LAST}
        group = (row.series_id, row.bucket)
        ledger = TokenLedger(
            started_at=row.started_at,
            ended_at=row.ended_at,
            **{name: values[name] for name in (*COUNTS, *TALLIES)},
            stores_in_flight=lasts["stores_in_flight"],
            cache_at_start=_first(row.start_true_at, row.start_false_at),
            cache_at_end=_later(row.end_true_at, row.end_false_at),
            notes=self._notes.get(group, frozenset()),
            **self._since_restart(row),
        )
        at = bucket_start(self._span, self._width, row.bucket) if self._width else self._span.start_at
        return Part(
            series_id=row.series_id,
            key=SeriesKey(row.cluster, row.endpoint, row.replica),
            at=at,
            last_at=row.last_at,
            rounds=row.rounds,
            ledger=ledger,
            answer=Answer(self._rows[row.series_id, row.last_at].answer),
            gauges=Gauges(*(lasts[name] for name in GAUGE_FIELDS)),
            ttft=self._histogram(row),
            models=frozenset(self._models[one] for one in (row.least_model, row.greatest_model) if one is not None),
            model=self._models.get(lasts["model_id"], ""),
        )

    def _last(self, series_id: int, name: str, at: float | None) -> Any:
        return None if at is None else self._rows[series_id, at]._mapping[name]

    def _histogram(self, row: Row[Any]) -> Histogram | None:
        """None: no row exports it; else with the layouts of rows without observations, too."""
        if row.first_layout is None:
            return None
        group = (row.series_id, row.bucket)
        found = self._ttft.get(group)
        for layout_id in self._in_use.get(group) or [row.first_layout]:
            bounds = self._layouts[layout_id]
            if found is None:
                found = empty_histogram(bounds)
            elif found.bounds != bounds:
                found = found + empty_histogram(bounds)
        return found

    def _since_restart(self, row: Row[Any]) -> dict[str, Any]:
        """Since the last restart in the bucket: what its row says, and the counts of the rows after it."""
        if row.restart_at is None:
            return dict.fromkeys(SINCE)
        at_restart = self._rows[row.series_id, row.restart_at]._mapping
        found = {name: at_restart[name] for name in SINCE}
        if row.restart_at < row.last_at:
            table = LEDGERS[self._span.resolution]
            after = (table.c.at > row.restart_at, table.c.at <= row.last_at)
            sums = select(func.sum(table.c.prompt_tokens), func.sum(table.c.requests))
            later = self._connection.execute(sums.where(table.c.series_id == row.series_id, *after)).one()
            for name, more in zip(SINCE, later, strict=True):
                found[name] = more if found[name] is None else found[name] + (more or 0.0)
        return found


@cache
def _statement(resolution: Resolution, *, is_bucketed: bool) -> Select[Any]:
    table = LEDGERS[resolution]
    at = table.c.at
    rounds = func.count() if resolution is Resolution.RAW else func.sum(table.c.rounds)
    return (
        select(
            table.c.series_id,
            series.c.cluster,
            series.c.endpoint,
            series.c.replica,
            bucket(table, is_bucketed=is_bucketed),
            rounds.label("rounds"),
            func.min(table.c.started_at).label("started_at"),
            func.max(table.c.ended_at).label("ended_at"),
            func.max(at).label("last_at"),
            *[func.sum(table.c[name]).label(name) for name in (*COUNTS, *TALLIES)],
            func.min(at).filter(table.c.cache_at_start.is_(True)).label("start_true_at"),
            func.min(at).filter(table.c.cache_at_start.is_(False)).label("start_false_at"),
            func.max(at).filter(table.c.cache_at_end.is_(True)).label("end_true_at"),
            func.max(at).filter(table.c.cache_at_end.is_(False)).label("end_false_at"),
            func.max(at).filter(table.c.restarts > 0).label("restart_at"),
            *[func.max(at).filter(_tells(table, name)).label(f"{name}_at") for name in LAST],
            func.min(table.c.model_id).label("least_model"),
            func.max(table.c.model_id).label("greatest_model"),
            func.min(table.c.ttft_layout_id).label("first_layout"),
            func.max(table.c.ttft_layout_id).label("last_layout"),
        )
        .select_from(by_series(table))
        .where(*within(table))
        .group_by(
            table.c.series_id,
            series.c.cluster,
            series.c.endpoint,
            series.c.replica,
            *([BY_BUCKET] if is_bucketed else []),
        )
    )


def _tells(table: Table, name: str) -> ColumnElement[bool]:
    """Rows that decide a last value; for usage also those that read vLLM and could not tell it (`Gauges.then`)."""
    told = table.c[name].is_not(None)
    if name != "kv_usage_ratio":
        return told
    return or_(told, table.c.answer == Answer.ENGINE.value, table.c.engine_scrapes > 0)


def _read_notes(
    connection: Connection, span: Span, whose: Sequence[ColumnElement[bool]], width: float
) -> dict[Group, frozenset[Note]]:
    table = LEDGERS[span.resolution]
    statement = (
        select(table.c.series_id, bucket(table, is_bucketed=bool(width)), table.c.notes)
        .select_from(by_series(table))
        .where(*within(table), *whose, table.c.notes.is_not(None))
        .distinct()
    )
    found: dict[Group, frozenset[Note]] = {}
    for row in connection.execute(statement, limits(span, width)):
        group = (row.series_id, row.bucket)
        found[group] = found.get(group, frozenset()) | load_notes(row.notes)
    return found


def _first(true_at: float | None, false_at: float | None) -> bool | None:
    """The flag of the earliest row that has one."""
    if true_at is None or false_at is None:
        return None if true_at is false_at else true_at is not None
    return true_at < false_at


def _later(true_at: float | None, false_at: float | None) -> bool | None:
    """The flag of the latest row that has one."""
    if true_at is None or false_at is None:
        return None if true_at is false_at else true_at is not None
    return true_at > false_at
