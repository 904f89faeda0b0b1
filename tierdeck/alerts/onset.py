"""When a ratio began to be lower: an alert comes only once it has lasted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_MINUTES = 5
"""On the side before; a level takes some minutes to be one."""
LEAST_FALL = 0.03
"""A smaller one is noise."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One minute: `part` of `whole` tokens; `at` is its start in epoch seconds."""

    at: float
    part: float
    whole: float


def onset(minutes: Sequence[Counted], latest_at: float) -> float | None:
    """Start of the minute from which on the ratio is lower, no later than `latest_at`; None: it never gets lower.

    The two levels, of ratios weighted by tokens, that leave the least squares of what is between them unexplained.

    Args:
        minutes: in order of time.
    """
    usable = [minute for minute in minutes if minute.whole > 0]
    whole, part = sum(one.whole for one in usable), sum(one.part for one in usable)
    best: tuple[float, float] | None = None
    left_whole = left_part = 0.0
    for number, minute in enumerate(usable):
        if number >= LEAST_MINUTES and minute.at <= latest_at:
            fall = left_part / left_whole - (part - left_part) / (whole - left_whole)
            explained = fall * fall * left_whole * (whole - left_whole)
            if fall >= LEAST_FALL and (best is None or explained > best[0]):
                best = explained, minute.at
        left_whole, left_part = left_whole + minute.whole, left_part + minute.part
    return best[1] if best is not None else None
