"""A back-fill: a stretch of the past that is being accounted after the fact."""

from __future__ import annotations

from dataclasses import dataclass

SILENT_AFTER_SECONDS = 180.0
"""A back-fill that has not told its progress for so long has stopped."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """How far it has come; instants in epoch seconds.

    Attributes:
        source: what the past is read from, such as `simulated fleet`.
        done_at: everything of (start_at, done_at] is in the store and rolled up.
        told_at: when this progress was told.
    """

    cluster: str
    source: str
    start_at: float
    end_at: float
    done_at: float
    told_at: float

    def __post_init__(self) -> None:
        if not self.start_at <= self.done_at <= self.end_at:
            raise ValueError("a back-fill is done up to a moment between its start and its end")

    @property
    def is_done(self) -> bool:
        return self.done_at >= self.end_at

    @property
    def share(self) -> float:
        """How much is done, in [0, 1]."""
        span = self.end_at - self.start_at
        return (self.done_at - self.start_at) / span if span > 0 else 1.0

    def is_silent(self, now: float) -> bool:
        """Not done, and nobody is at it any more."""
        return not self.is_done and now - self.told_at > SILENT_AFTER_SECONDS
