"""Endpoints over time summed to one series: unknown in any readable part is unknown in the sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from db.quantiles import Layer, summed
from db.schema import ENDPOINT_FIGURES

if TYPE_CHECKING:
    import pandas as pd

_SUMS = [name for name in ENDPOINT_FIGURES if name != "kv_usage_ratio"]


def total_rows(found: pd.DataFrame) -> pd.DataFrame:
    """One row per `at`. Endpoints without a readable replica are left out; where all are, figures are NaN."""
    parts = found[found["readable"] > 0].copy()
    parts["weighted"] = parts["kv_usage_ratio"] * parts["kv_capacity_tokens"]
    groups = parts.groupby("at")
    sums = groups[[*_SUMS, "weighted"]].sum(min_count=1)
    unknown = parts[[*_SUMS, "weighted"]].isna().groupby(parts["at"]).any()
    sums = sums.mask(unknown)
    sums["covers"] = _covers(parts)
    usage = groups["kv_usage_ratio"]
    is_one = (usage.min() == usage.max()) & (usage.count() == groups.size())
    sums["kv_usage_ratio"] = usage.min().where(is_one, sums["weighted"] / sums["kv_capacity_tokens"])
    total = found.groupby("at")[["replicas", "readable"]].sum().join(sums[[*ENDPOINT_FIGURES, "covers"]]).reset_index()
    total["cluster"] = total["endpoint"] = ""
    return total


def _covers(parts: pd.DataFrame) -> pd.Series[float]:
    """All tokens over those of the buckets' own time; 1 without tokens."""
    tokens = parts["prompt_tokens"].fillna(0.0)
    whole = tokens.groupby(parts["at"]).sum()
    inside = (tokens / parts["covers"]).groupby(parts["at"]).sum()
    return (whole / inside.where(inside > 0)).fillna(1.0)


def total_layers(found: pd.DataFrame, histograms: Sequence[Layer]) -> list[Layer]:
    """The histograms of `total_rows`, by its rows; none where a readable endpoint has none."""
    groups = np.asarray(found.groupby("at").ngroup(), dtype=np.int64)
    readable = np.asarray(found["readable"] > 0)
    has_one = np.zeros(len(found), dtype=bool)
    for layer in histograms:
        has_one[layer.rows] = True
    incomplete = np.unique(groups[readable & ~has_one])
    wanted = readable & ~np.isin(groups, incomplete)
    kept = [Layer(one.bounds, one.rows[wanted[one.rows]], one.counts[wanted[one.rows]]) for one in histograms]
    return summed([one for one in kept if len(one.rows)], groups)
