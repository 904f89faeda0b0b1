"""Series ready to be drawn: complete buckets only, in shares or tokens a second, and as short trends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from console.segments import Source, source_series

Trend = tuple[float, ...]
"""Values at equal steps over a window; NaN: a gap."""

_POINTS = 48
_LIVE_WIDTH_SECONDS = 60
"""Buckets up to this width are left out while they fill; wider ones count by the time that has passed."""
_SOURCES = [str(source) for source in Source]


def bucket_seconds(series: pd.DataFrame, resolution_seconds: int) -> float:
    """Width of the buckets: the resolution's, or the least step between raw ones."""
    steps = pd.Series(series["at"].unique()).diff().dropna().dt.total_seconds()
    return float(resolution_seconds or (steps.min() if len(steps) else 15.0))


def epoch_seconds(at: pd.Series) -> npt.NDArray[np.float64]:
    """Instants of a column."""
    found: npt.NDArray[np.float64] = at.dt.tz_localize(None).to_numpy("datetime64[ms]").astype(np.float64) / 1000
    return found


def complete(series: pd.DataFrame, width: float, start_at: float, last_at: float) -> pd.DataFrame:
    """Without buckets that the window's start cuts or that still fill.

    `width_seconds` is how wide each is, `covered_seconds` the time that its tokens took: less while it fills, more
    where a round told of the time before it too.
    """
    at = epoch_seconds(series["at"])
    covered = np.minimum(last_at - at, width)
    is_live = width <= _LIVE_WIDTH_SECONDS
    kept = (covered >= width) & (at >= start_at) if is_live else covered >= width / 2
    took = covered * series["covers"] if "covers" in series else covered
    return series.assign(width_seconds=width, covered_seconds=took)[kept].reset_index(drop=True)


def fleet_tokens(series: pd.DataFrame) -> pd.DataFrame:
    """Tokens by source per bucket, summed over the endpoints that are known there."""
    tokens = source_series(series).assign(width=series["width_seconds"], covered=series["covered_seconds"])
    tokens["rate"] = tokens["prompt_tokens"] / tokens["covered"]
    grouped = tokens.groupby("at")
    found = grouped[[*_SOURCES, "prompt_tokens", "rate"]].sum(min_count=1)
    found["width_seconds"] = grouped["width"].first()
    took = found["prompt_tokens"] / found["rate"].where(found["rate"] > 0)
    found["covered_seconds"] = took.fillna(grouped["covered"].min())
    return found.drop(columns="rate").reset_index()


def shares(tokens: pd.DataFrame) -> pd.DataFrame:
    """Each source's share of its bucket's prompt tokens; NaN without traffic."""
    whole = tokens["prompt_tokens"].where(tokens["prompt_tokens"] > 0)
    return tokens.assign(**{name: tokens[name] / whole for name in _SOURCES})


def rates(tokens: pd.DataFrame) -> pd.DataFrame:
    """Each source's tokens a second."""
    return tokens.assign(**{name: tokens[name] / tokens["covered_seconds"] for name in _SOURCES})


def trend(series: pd.DataFrame, column: str, start_at: float, end_at: float, *, worst: bool = False) -> Trend:
    """A column thinned to a sparkline: the mean of each step, or the largest value where `worst`."""
    if series.empty:
        return ()
    points = min(_POINTS, max(1, int((end_at - start_at) / series["width_seconds"].iloc[0])))
    seconds = epoch_seconds(series["at"])
    step = ((seconds - start_at) / (end_at - start_at) * points).astype(int).clip(0, points - 1)
    values = series[column].to_numpy(dtype=np.float64)
    told = np.isfinite(values)
    thinned = np.full(points, -np.inf if worst else 0.0)
    if worst:
        np.maximum.at(thinned, step[told], values[told])
    else:
        np.add.at(thinned, step[told], values[told])
    counts = np.bincount(step[told], minlength=points)
    thinned[counts == 0] = np.nan
    return tuple((thinned if worst else thinned / np.maximum(counts, 1)).tolist())
