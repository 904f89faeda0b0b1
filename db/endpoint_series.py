"""Endpoints over time as a DataFrame: rolled-up rows as they stand, raw ones summed on the fly."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, select

from db.clauses import by_series, limits, scope, within
from db.codec import dump_counts
from db.coverage import covers, reaches_of, read_reaches
from db.dimensions import read_layouts
from db.endpoint_rows import endpoint_buckets
from db.frames import frame
from db.parts import read_parts
from db.quantiles import Layer, layers, quantiles
from db.query import Query
from db.schema import ENDPOINT_FIGURES, ENDPOINTS, LEDGERS, series
from db.spans import Span
from db.totals import total_layers, total_rows
from tierdeck.account import WarmingLimits
from tierdeck.resolution import Resolution

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = {"ttft_p50": 0.5, "ttft_p95": 0.95}
_FIGURES = tuple(name for name in ENDPOINT_FIGURES if name != "kv_capacity_tokens")
COLUMNS = (
    "at",
    "cluster",
    "endpoint",
    *_FIGURES,
    "hit_ratio",
    "covers",
    "replicas",
    "readable",
    *(f"{name}{bound}" for name in QUANTILES for bound in ("", "_low", "_high")),
)
_STORED = ("at", "cluster", "endpoint", "replicas", "readable", *ENDPOINT_FIGURES)
_LEAST_STEP_SECONDS = 15
_SAMPLE_ROWS = 501


def read_endpoint_series(connection: Connection, query: Query, *, total: bool) -> pd.DataFrame:
    """Rows in order of time, columns COLUMNS."""
    found, histograms = _raw(connection, query) if query.resolution is Resolution.RAW else _rolled(connection, query)
    found = found.astype({"replicas": "int64", "readable": "int64"})
    if total:
        histograms = total_layers(found, histograms)
        found = total_rows(found)
    found["hit_ratio"] = _hit_ratio(found)
    for name, q in QUANTILES.items():
        for bound, values in zip(("", "_low", "_high"), quantiles(histograms, len(found), q), strict=True):
            found[f"{name}{bound}"] = values
    return found[list(COLUMNS)]


def _rolled(connection: Connection, query: Query) -> tuple[pd.DataFrame, list[Layer]]:
    table = ENDPOINTS[query.resolution]
    owner = {"cluster": series.c.cluster, "endpoint": series.c.endpoint}
    wanted = {"cluster": query.cluster, "endpoint": query.endpoint}
    whose = [owner[name] == value for name, value in wanted.items() if value is not None]
    names = (*_STORED, "ttft_layout_id", "ttft_counts")
    statement = (
        select(*(owner[name] if name in owner else table.c[name] for name in names))
        .select_from(by_series(table))
        .where(*query.rows(table), series.c.replica == "", *whose)
    )
    cursor = connection.execute(statement).cursor  # the driver's tuples: a month of a fleet is many
    rows = sorted(cursor.fetchall(), key=itemgetter(0, 1, 2)) if cursor is not None else []
    found = frame(rows, names, numbers=ENDPOINT_FIGURES)
    tokens = [row[names.index("prompt_tokens")] for row in rows]
    reaches, width = read_reaches(connection, query), float(query.resolution.value)
    found["covers"] = np.array(covers([row[:3] for row in rows], tokens, reaches, width))
    return found, layers([row[-2] for row in rows], [row[-1] for row in rows], read_layouts(connection))


def _raw(connection: Connection, query: Query) -> tuple[pd.DataFrame, list[Layer]]:
    step = _step_seconds(connection, query)
    span = Span(Resolution.RAW, query.start_at, math.ceil(query.end_at / step) * step)
    parts = read_parts(connection, span, scope(query.cluster, query.endpoint), step)
    buckets = sorted(endpoint_buckets(parts, WarmingLimits()), key=lambda one: (one.at, one.cluster, one.endpoint))
    rows = [(*(getattr(one, name) for name in _STORED[:5]), *one.figures.values()) for one in buckets]
    numbers = {bounds: number for number, bounds in enumerate({one.ttft.bounds for one in buckets if one.ttft})}
    layout_ids = [None if one.ttft is None else numbers[one.ttft.bounds] for one in buckets]
    counts = [None if one.ttft is None else dump_counts(one.ttft.counts) for one in buckets]
    found = frame(rows, _STORED, numbers=ENDPOINT_FIGURES)
    owners = [(one.at, one.cluster, one.endpoint) for one in buckets]
    tokens = [one.figures["prompt_tokens"] for one in buckets]
    found["covers"] = np.array(covers(owners, tokens, reaches_of(parts, step), step))
    return found, layers(layout_ids, counts, {number: bounds for bounds, number in numbers.items()})


def _step_seconds(connection: Connection, query: Query) -> float:
    """The usual time between two rounds, so that every bucket has one of each replica."""
    table = LEDGERS[Resolution.RAW]
    span = Span(Resolution.RAW, query.start_at, query.end_at)
    statement = (
        select(table.c.ended_at - table.c.started_at)
        .select_from(by_series(table))
        .where(*within(table), *scope(query.cluster, query.endpoint), table.c.ended_at > table.c.started_at)
        .limit(_SAMPLE_ROWS)
    )
    widths: Sequence[float] = connection.execute(statement, limits(span)).scalars().all()
    return float(max(_LEAST_STEP_SECONDS, round(statistics.median(widths)))) if widths else float(_LEAST_STEP_SECONDS)


def _hit_ratio(found: pd.DataFrame) -> pd.Series[float]:
    """As `Ratio.of`: NaN without traffic, and where the counters contradict each other."""
    part, whole = found["l0"] + found["lower"], found["prompt_tokens"]
    sound = (whole > 0) & (part >= 0) & (part <= whole)
    return (part / whole.where(sound)).where(sound, np.nan)
