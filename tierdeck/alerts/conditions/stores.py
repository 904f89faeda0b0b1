"""How much of what is submitted to L2 is stored."""

from __future__ import annotations

from collections.abc import Sequence

from tierdeck.alerts.conditions.recent import total
from tierdeck.alerts.minute import Minute

LEAST_CHUNKS = 20.0
"""Fewer are in flight at any moment."""
ALL_STORED = 0.5
"""Below this share stores are lost; some are always on their way."""


def stored(window: Sequence[Minute]) -> float | None:
    """Share of the chunks submitted that were stored, in [0, 1]; None: not told, or too few."""
    told = [one for one in window if one.stores_submitted is not None]
    submitted, completed = total(told, lambda one: one.stores_submitted), total(told, lambda one: one.stores_completed)
    if submitted is None or submitted < LEAST_CHUNKS:
        return None
    return min(1.0, (completed or 0.0) / submitted)


def is_told(window: Sequence[Minute]) -> bool:
    """Somebody tells of stores at all."""
    return any(one.stores_submitted is not None for one in window)
