"""Rows further apart than buckets are wide, as a coarse past or slow scrapes leave them, spread over their buckets."""

from __future__ import annotations

import numpy as np
import pandas as pd

_TOKENS = ("prompt_tokens", "l0", "l1", "l1_low", "l1_high", "l2", "l2_low", "l2_high", "lower", "miss", "transfer",
           "requests")  # fmt: skip
_LONGER = 1.5
"""In bucket widths: what took longer is a row of several buckets."""


def spread(series: pd.DataFrame, width: float) -> pd.DataFrame:
    """The series with a row for each bucket that a row stands for; `is_spread` where it was not there before.

    A row stands for the empty buckets before it where its tokens took that long and those of the row before it took
    longer than a bucket, too: what a single gap in scraping left behind stays a hole.

    Args:
        series: as `Store.endpoint_series`.
        width: of the buckets in seconds.
    """
    series = series.assign(is_spread=False)
    by_owner = series.groupby(["cluster", "endpoint"])
    step = (by_owner["at"].diff().dt.total_seconds() / width).round()
    is_coarse = (step > _LONGER) & (step <= series["covers"].round()) & (by_owner["covers"].shift() > _LONGER)
    if not is_coarse.any():
        return series
    count = step.where(is_coarse, 1).astype(int)
    found = series.loc[series.index.repeat(count)]
    back = (count - 1).loc[found.index] - found.groupby(level=0).cumcount()
    of = count.loc[found.index].to_numpy()
    found["at"] = found["at"] - pd.to_timedelta(back * width, unit="s")
    found["is_spread"] = back > 0
    found["covers"] = np.where(of > 1, found["covers"] / of, found["covers"])
    present = [name for name in _TOKENS if name in found]
    found[present] = found[present].div(of, axis=0)
    return found.sort_values(["at", "cluster", "endpoint"], kind="stable").reset_index(drop=True)
