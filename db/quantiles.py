"""Quantiles of many histograms at once: `Histogram.quantile` and `Histogram.__add__` over arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from db.codec import load

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layer:
    """Histograms of one layout: `rows` says which rows of the frame, `counts` is (rows, bounds + 1)."""

    bounds: tuple[float, ...]
    rows: npt.NDArray[np.int64]
    counts: Floats

    def on(self, bounds: tuple[float, ...]) -> Floats:
        """The counts on a subset of the bounds."""
        if bounds == self.bounds:
            return self.counts
        cumulative = self.counts.cumsum(axis=1)
        kept = [self.bounds.index(bound) for bound in bounds]
        columns = [*(cumulative[:, index] for index in kept), cumulative[:, -1]]
        return np.diff(np.stack(columns, axis=1), axis=1, prepend=0.0)


def layers(
    layout_ids: Sequence[int | None], counts: Sequence[str | None], layouts: Mapping[int, tuple[float, ...]]
) -> list[Layer]:
    """The stored histograms of a frame's rows, by layout; rows with None are in no layer."""
    by_layout: dict[int, list[int]] = {}
    for row, layout_id in enumerate(layout_ids):
        if layout_id is not None:
            by_layout.setdefault(int(layout_id), []).append(row)
    found = []
    for layout_id, rows in by_layout.items():
        bounds = layouts[layout_id]
        dense = np.zeros((len(rows), len(bounds) + 1))
        _fill(dense, load("[" + ",".join(counts[row] or "[0]" for row in rows) + "]"))
        found.append(Layer(bounds, np.asarray(rows, dtype=np.int64), dense))
    return found


def _fill(dense: Floats, lists: Sequence[Sequence[float]]) -> None:
    """Each line from its list [index of the first, counts …]."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.float64, count=int(lengths.sum()))
    begins = lengths.cumsum() - lengths
    lines = np.repeat(np.arange(len(lists)), lengths)
    columns = np.arange(len(flat)) - begins[lines] - 1 + flat[begins].astype(np.int64)[lines]
    is_count = np.ones(len(flat), dtype=bool)
    is_count[begins] = False
    dense[lines[is_count], columns[is_count]] = flat[is_count]


def summed(found: Sequence[Layer], groups: npt.NDArray[np.int64]) -> list[Layer]:
    """Rows of one group as one, on the bounds that all of the group's layouts share.

    Args:
        groups: number of each row's group; the sums' `rows` are these numbers.
    """
    signatures: dict[int, frozenset[int]] = {}
    for number, layer in enumerate(found):
        for group in np.unique(groups[layer.rows]):
            signatures[int(group)] = signatures.get(int(group), frozenset()) | {number}
    sums = []
    for signature in set(signatures.values()):
        own = np.asarray(sorted(group for group, one in signatures.items() if one == signature), dtype=np.int64)
        shared = set.intersection(*(set(found[number].bounds) for number in signature))
        bounds = tuple(sorted(shared))
        total = np.zeros((len(own), len(bounds) + 1))
        for number in signature:
            layer = found[number]
            mine = np.isin(groups[layer.rows], own)
            np.add.at(total, np.searchsorted(own, groups[layer.rows[mine]]), layer.on(bounds)[mine])
        sums.append(Layer(bounds, own, total))
    return sums


def quantiles(found: Sequence[Layer], rows: int, q: float) -> tuple[Floats, Floats, Floats]:
    """Value, low and high of one quantile for each row of the frame.

    NaN without observations; where it fell into +Inf the value is NaN, low the last bound, high inf.
    """
    value, low, high = np.full(rows, np.nan), np.full(rows, np.nan), np.full(rows, np.nan)
    for layer in found:
        if layer.bounds:
            value[layer.rows], low[layer.rows], high[layer.rows] = _quantile(layer, q)
    return value, low, high


def _quantile(layer: Layer, q: float) -> tuple[Floats, Floats, Floats]:
    bounds = np.asarray(layer.bounds)
    lows = np.concatenate([[min(0.0, layer.bounds[0])], bounds])
    highs = np.concatenate([bounds, [np.inf]])
    cumulative = layer.counts.cumsum(axis=1)
    total = cumulative[:, -1]
    rank = q * total
    reached = (layer.counts > 0) & (cumulative >= rank[:, None])
    reached[:, -1] = True
    index = reached.argmax(axis=1)
    lines = np.arange(len(total))
    count = layer.counts[lines, index]
    below = cumulative[lines, index] - count
    low, high = lows[index], highs[index]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = low + (high - low) * np.maximum(0.0, rank - below) / count
    value[np.isinf(high)] = np.nan
    for one in (value, low, high):
        one[total == 0] = np.nan
    return value, low, high
