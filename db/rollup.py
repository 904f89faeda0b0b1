"""Roll-ups: raw rows into 1-minute ones, those into 10-minute ones, those into hours; endpoints from each.

Idempotent: a bucket is written only where more rounds lie beneath it than its row says, which is
also how late rows are found. Reading and writing are two transactions, so that collectors wait
for the short one only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from db.append import histogram_row
from db.clauses import BY_BUCKET, ROLLUP, bucket, by_series, limits, rolled_at, scope, within
from db.codec import dump_counts
from db.database import Database
from db.dimensions import Dimensions, Needs, SeriesKey
from db.endpoint_rows import EndpointBucket, endpoint_buckets
from db.ledger_rows import ledger_row
from db.parts import Part, read_parts
from db.schema import ENDPOINTS, HISTOGRAMS, LEDGERS, series, watermarks
from db.side_rollups import has_sides, roll_up_pools, roll_up_salts
from db.spans import LATE_SECONDS, Span, bucket_start
from db.upsert import Upsert, incoming
from tierdeck.account import WarmingLimits
from tierdeck.resolution import ROLLUPS, Resolution

_PARTS_PER_SLICE = 4000
_SIDE_BUCKETS = 400
_LOCK = 7410214
"""PostgreSQL's advisory lock for roll-ups."""
_LEDGERS = {
    one: Upsert(LEDGERS[one], where=incoming(LEDGERS[one]).c.rounds >= LEDGERS[one].c.rounds) for one in ROLLUPS
}
_ENDPOINTS = {
    one: Upsert(ENDPOINTS[one], where=incoming(ENDPOINTS[one]).c.rounds >= ENDPOINTS[one].c.rounds) for one in ROLLUPS
}
_HISTOGRAMS = {one: Upsert(HISTOGRAMS[one]) for one in ROLLUPS}
_MARK = Upsert(watermarks, where=incoming(watermarks).c.at > watermarks.c.at)


@dataclass(frozen=True, slots=True)
class Rollup:
    """Rolls up one store."""

    database: Database
    ids: Dimensions
    warming: WarmingLimits

    def up_to(self, now: float) -> None:
        """What is new since the last call, and what came late for the time before it."""
        with self.database.read() as connection:
            before = rolled_at(connection)
            start_at = before - LATE_SECONDS if before is not None else _first_end(connection, Resolution.RAW, 0.0)
        if start_at is None:
            return
        self._over(start_at, now, before)
        with self.database.write() as connection:
            _MARK.run(connection, [(ROLLUP, now)])

    def over(self, start_at: float, end_at: float) -> None:
        """All buckets that (start_at, end_at] touches."""
        self._over(start_at, end_at, None)

    def _over(self, start_at: float, end_at: float, before: float | None) -> None:
        """
        Args:
            before: end of the last call, if this one goes on from it: the open bucket of 10 minutes
                or an hour is then written anew only when one of the finer buckets has ended since.
        """
        for finer, resolution in zip((Resolution.RAW, *ROLLUPS), ROLLUPS, strict=False):
            width = resolution.value
            first, last = math.floor(start_at / width) * width, math.ceil(end_at / width) * width
            is_due = before is None or finer is Resolution.RAW or end_at // finer.value > before // finer.value
            open_at = math.inf if is_due else end_at // width * width
            for span in self._slices(finer, width, first, last):
                self._slice(span, resolution, open_at)
            self._sides(Span(finer, first, last), resolution)

    def _sides(self, span: Span, resolution: Resolution) -> None:
        """Salts and pools, which most fleets have few of."""
        with self.database.read() as connection:
            if not has_sides(connection, span):
                return
        step = _SIDE_BUCKETS * resolution.value
        for at in range(int(span.start_at), int(span.end_at), step):
            some = Span(span.resolution, at, min(span.end_at, at + step))
            with self._write() as connection:
                roll_up_salts(connection, some, resolution)
                roll_up_pools(connection, some, resolution)

    def _slices(self, finer: Resolution, width: int, first: float, last: float) -> Iterator[Span]:
        """Spans of a bounded number of buckets, beginning where there is something."""
        at = first
        while at < last:
            with self.database.read() as connection:
                end = _first_end(connection, finer, at)
                replicas = connection.execute(select(func.count()).select_from(series)).scalar_one()
            if end is None:
                return
            begin = max(first, math.ceil(end / width) * width - width)
            at = min(last, begin + width * max(1, _PARTS_PER_SLICE // max(1, replicas)))
            if begin < at:
                yield Span(finer, begin, at)

    def _slice(self, span: Span, resolution: Resolution, open_at: float) -> None:
        """Replicas and endpoints of the buckets that have grown; of one that began at `open_at` if it is new."""
        with self.database.read() as connection:
            grown = {at for at, is_new in _grown(connection, span, resolution).items() if is_new or at < open_at}
            if not grown:
                return
            narrow = Span(span.resolution, min(grown), max(grown) + resolution.value)
            parts = [part for part in read_parts(connection, narrow, scope(), resolution.value) if part.at in grown]
        buckets = endpoint_buckets(parts, self.warming)
        ttfts = [*(part.ttft for part in parts), *(bucket.ttft for bucket in buckets)]
        needs = Needs(
            series={_endpoint_key(bucket) for bucket in buckets},
            models={part.model for part in parts if part.model},
            layouts={ttft.bounds for ttft in ttfts if ttft is not None},
        )
        self.ids.prepare(self.database, needs)
        with self._write() as connection:
            self._write_parts(connection, resolution, parts)
            _ENDPOINTS[resolution].run(connection, [self._endpoint_row(bucket) for bucket in buckets])

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """One roll-up at a time: two that meet in PostgreSQL would wait for each other's rows."""
        with self.database.write() as connection:
            if not self.database.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection

    def _write_parts(self, connection: Connection, resolution: Resolution, parts: Sequence[Part]) -> None:
        ledgers, histograms = [], []
        for part in parts:
            layout_id = self.ids.layout_id(part.ttft.bounds) if part.ttft is not None else None
            told = (part.answer.value, self.ids.model_id(part.model), layout_id)
            row = ledger_row((part.series_id, part.at), part.ledger, part.gauges, told)
            ledgers.append((*row, part.rounds))
            if part.ttft is not None and layout_id is not None:
                histogram = histogram_row(part.series_id, part.at, part.ttft, layout_id)
                histograms += [histogram] if histogram else []
        _LEDGERS[resolution].run(connection, ledgers)
        _HISTOGRAMS[resolution].run(connection, histograms)

    def _endpoint_row(self, bucket: EndpointBucket) -> tuple[object, ...]:
        ttft = bucket.ttft
        histogram = (self.ids.layout_id(ttft.bounds), dump_counts(ttft.counts), ttft.sum) if ttft else (None,) * 3
        return (
            self.ids.series_id(_endpoint_key(bucket)),
            bucket.at,
            bucket.ended_at,
            bucket.rounds,
            bucket.replicas,
            bucket.readable,
            *bucket.figures.values(),
            *histogram,
        )


def _endpoint_key(bucket: EndpointBucket) -> SeriesKey:
    return SeriesKey(bucket.cluster, bucket.endpoint, "")


def _first_end(connection: Connection, resolution: Resolution, after: float) -> float | None:
    """When the earliest row ends that ends after an instant: one look-up per series."""
    table = LEDGERS[resolution]
    first = select(func.min(table.c.at)).where(table.c.series_id == series.c.id, table.c.at > after - resolution.value)
    earliest = select(func.min(select(first.scalar_subquery().label("at")).select_from(series).subquery().c.at))
    found: float | None = connection.execute(earliest).scalar()
    return None if found is None else found + resolution.value


def _grown(connection: Connection, span: Span, resolution: Resolution) -> dict[float, bool]:
    """Starts of the buckets with more rounds beneath them than their rows say, and whether they have none."""
    finer, coarse, width = LEDGERS[span.resolution], LEDGERS[resolution], float(resolution.value)
    rounds = func.count() if span.resolution is Resolution.RAW else func.sum(finer.c.rounds)
    beneath = (
        select(bucket(finer), rounds).select_from(by_series(finer)).where(*within(finer), *scope()).group_by(BY_BUCKET)
    )
    told = select(coarse.c.at, func.sum(coarse.c.rounds)).select_from(by_series(coarse)).group_by(coarse.c.at)
    told = told.where(coarse.c.at >= span.start_at, coarse.c.at < span.end_at)
    written = {row[0]: row[1] for row in connection.execute(told)}
    found = connection.execute(beneath, limits(span, width))
    counts = {bucket_start(span, width, row[0]): row[1] for row in found}
    return {at: at not in written for at, number in counts.items() if number > written.get(at, 0)}
