"""A window as spans of tables: the coarsest rolled-up rows that lie within it, finer ones at its edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tierdeck.resolution import ROLLUPS, Resolution

LATE_SECONDS = 600
"""Rows that come later than this are not rolled up by themselves."""
RAW_WINDOW_SECONDS = 1800
"""Up to here a window is read from raw rows alone."""


@dataclass(frozen=True, slots=True)
class Span:
    """The rows of one resolution whose ends lie in (start_at, end_at], epoch seconds."""

    resolution: Resolution
    start_at: float
    end_at: float

    @property
    def first_at(self) -> float:
        """Exclusive lower limit of the rows' `at`: raw rows carry their end, rolled-up ones their start."""
        return self.start_at - self.resolution.value

    @property
    def last_at(self) -> float:
        """Inclusive upper limit of the rows' `at`."""
        return self.end_at - self.resolution.value


def spans(start_at: float, end_at: float, rolled_at: float | None) -> list[Span]:
    """Spans that together cover (start_at, end_at], in order of time.

    Args:
        rolled_at: the roll-up's watermark; rows that may still be late are read raw.
    """
    if rolled_at is None or end_at - start_at <= RAW_WINDOW_SECONDS:
        return [Span(Resolution.RAW, start_at, end_at)]
    return _split(start_at, end_at, rolled_at - LATE_SECONDS, (Resolution.RAW, *ROLLUPS))


def bucket_start(span: Span, width: float, index: int) -> float:
    """Start of the bucket (start, start + width] that is the index-th from the span's end."""
    return span.end_at - (index + 1) * width


def _split(start_at: float, end_at: float, final_at: float, finer: Sequence[Resolution]) -> list[Span]:
    """The coarsest buckets that lie within and can't change any more; the edges by the resolutions below."""
    *below, resolution = finer
    if start_at >= end_at:
        return []
    if not below:
        return [Span(resolution, start_at, end_at)]
    width = resolution.value
    first = math.ceil(start_at / width) * width
    last = math.floor(min(end_at, final_at) / width) * width
    if first >= last:
        return _split(start_at, end_at, final_at, below)
    middle = Span(resolution, first, last)
    return [*_split(start_at, first, final_at, below), middle, *_split(last, end_at, final_at, below)]
