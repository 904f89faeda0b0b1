"""Hits of every endpoint in buckets of 10 minutes: what alerting learns from when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, select

from db.clauses import by_series
from db.doubted import read_doubted_buckets
from db.frames import frame
from db.schema import ENDPOINTS, series
from tierdeck.resolution import Resolution

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("at", "cluster", "endpoint", "prompt_tokens", "hit_tokens", "l0", "l1", "l2", "requests")
_TABLE = ENDPOINTS[Resolution.TEN_MINUTES]
_STORED = ("prompt_tokens", "l0", "l1", "l2", "lower", "requests")


def read_hit_history(connection: Connection, start_at: float, end_at: float, cluster: str | None) -> pd.DataFrame:
    """Buckets that lie in [start_at, end_at], in order of time; no hits where counters contradict each other."""
    statement = (
        select(_TABLE.c.at, series.c.cluster, series.c.endpoint, *(_TABLE.c[name] for name in _STORED))
        .select_from(by_series(_TABLE))
        .where(series.c.replica == "", _TABLE.c.at >= start_at, _TABLE.c.at <= end_at - Resolution.TEN_MINUTES.value)
    )
    if cluster is not None:
        statement = statement.where(series.c.cluster == cluster)
    cursor = connection.execute(statement).cursor  # the driver's tuples: weeks of a fleet are many
    rows = cursor.fetchall() if cursor is not None else []
    found = frame(rows, ("at", "cluster", "endpoint", *_STORED), numbers=_STORED)
    doubted = read_doubted_buckets(connection, start_at, end_at - Resolution.TEN_MINUTES.value, cluster)
    if doubted:
        keys = zip(found["at"].astype("int64") / 1e6, found["cluster"], found["endpoint"], strict=True)
        found.loc[[one in doubted for one in keys], ["l0", "l1", "l2", "lower"]] = np.nan
    hits, whole = found["l0"] + found["lower"], found["prompt_tokens"]
    found["hit_tokens"] = hits.where((hits >= 0) & (hits <= whole), np.nan)
    order = found.sort_values(["at", "cluster", "endpoint"], ignore_index=True)
    return order[list(COLUMNS)]
