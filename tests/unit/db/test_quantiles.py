"""Quantiles of many histograms at once are those of each alone."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.codec import dump_counts
from db.quantiles import layers, quantiles, summed
from tierdeck.histogram import Histogram

LAYOUTS = {1: (0.1, 0.25, 0.5), 2: (0.25, 1.0), 3: (7.0,)}


@st.composite
def many(draw: st.DrawFn) -> list[tuple[int, Histogram] | None]:
    found: list[tuple[int, Histogram] | None] = []
    for layout_id in draw(st.lists(st.none() | st.sampled_from(sorted(LAYOUTS)), max_size=8)):
        if layout_id is None:
            found.append(None)
            continue
        bounds = LAYOUTS[layout_id]
        counts = draw(st.lists(st.integers(0, 20), min_size=len(bounds) + 1, max_size=len(bounds) + 1))
        found.append((layout_id, Histogram(bounds, tuple(map(float, counts)))))
    return found


def stacked(found: list[tuple[int, Histogram] | None]) -> tuple[list[int | None], list[str | None]]:
    ids = [one[0] if one else None for one in found]
    return ids, [dump_counts(one[1].counts) if one else None for one in found]


def expected(histogram: Histogram | None, q: float) -> list[float]:
    if histogram is None:
        return [np.nan] * 3
    quantile = histogram.quantile(q)
    if quantile.at_least is not None:
        return [np.nan, quantile.at_least, np.inf]
    return [np.nan if one is None else one for one in (quantile.value, quantile.low, quantile.high)]


@given(found=many(), q=st.sampled_from([0.0, 0.5, 0.95, 1.0]))
def test_each_row_has_its_histograms_quantile(found: list[tuple[int, Histogram] | None], q: float) -> None:
    lines = np.array(quantiles(layers(*stacked(found), LAYOUTS), len(found), q)).T
    for line, one in zip(lines, found, strict=True):
        assert line.tolist() == pytest.approx(expected(one[1] if one else None, q), nan_ok=True)


@given(found=many(), q=st.sampled_from([0.5, 0.95]), data=st.data())
def test_groups_have_their_sums_quantile(
    found: list[tuple[int, Histogram] | None], q: float, data: st.DataObject
) -> None:
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(found), max_size=len(found)))
    sums = summed(layers(*stacked(found), LAYOUTS), np.asarray(groups, dtype=np.int64))
    lines = np.array(quantiles(sums, 3, q)).T
    for group in range(3):
        parts = [one[1] for one, owner in zip(found, groups, strict=True) if one is not None and owner == group]
        total = reduce(Histogram.__add__, parts) if parts else None
        assert lines[group].tolist() == pytest.approx(expected(total, q), nan_ok=True)
