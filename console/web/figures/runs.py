"""Stretches of buckets without a hole between them: what is drawn in one piece, and what lies between.

Instants are milliseconds since the epoch, as Plotly takes them on a date axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

Array = npt.NDArray[np.float64]

_BREAK = np.array([np.nan])
_LARGEST_STEP = 1.5
"""In bucket widths; more between two rows is a hole."""


@dataclass(frozen=True, slots=True)
class Run:
    """Rows first..last (exclusive), and the instant at which the last bucket ends."""

    first: int
    last: int
    ends_at: float


def milliseconds(at: pd.Series) -> Array:
    """Instants of a column as Plotly takes them."""
    found: Array = at.dt.tz_localize(None).to_numpy("datetime64[ms]").astype(np.float64)
    return found


def runs(at: Array, told: npt.NDArray[np.bool_], width: float) -> list[Run]:
    """Runs of rows that are told and follow each other closely.

    Args:
        at: starts of the buckets, ascending.
        width: of a bucket.
    """
    found: list[Run] = []
    for index in np.flatnonzero(told):
        run = found[-1] if found else None
        if run is not None and run.last == index and at[index] - at[index - 1] <= _LARGEST_STEP * width:
            found[-1] = Run(run.first, int(index) + 1, at[index] + width)
        else:
            found.append(Run(int(index), int(index) + 1, at[index] + width))
    return found


def holes(found: Sequence[Run], at: Array, start: float, end: float) -> Iterator[tuple[float, float]]:
    """What the runs leave open between `start` and `end`."""
    before = start
    for run in found:
        if at[run.first] > before:
            yield before, at[run.first]
        before = max(before, run.ends_at)
    if end > before:
        yield before, end


def polygon(at: Array, low: Array, high: Array, found: Sequence[Run]) -> tuple[Array, Array]:
    """The area between two lines as closed outlines, one per run, for a trace with `fill="toself"`."""
    xs: list[Array] = []
    ys: list[Array] = []
    for run in found:
        x = _held(at, run, run.ends_at)
        xs += [x, x[::-1], _BREAK]
        ys += [_held(high, run), _held(low, run)[::-1], _BREAK]
    return _joined(xs), _joined(ys)


def line(at: Array, values: Array, found: Sequence[Run]) -> tuple[Array, Array]:
    """The values as a line that is interrupted between runs."""
    xs: list[Array] = []
    ys: list[Array] = []
    for run in found:
        xs += [_held(at, run, run.ends_at), _BREAK]
        ys += [_held(values, run), _BREAK]
    return _joined(xs), _joined(ys)


def _held(values: Array, run: Run, last: float | None = None) -> Array:
    """The run's values, the last one held until its bucket ends."""
    some = values[run.first : run.last]
    return np.append(some, some[-1] if last is None else last)


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts) if parts else np.empty(0)
