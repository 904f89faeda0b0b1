"""Room that deleting has earned and the pool does not show yet: counted as free, lest the same room is made twice.

Curvine frees blocks after their files are gone, and never those on a worker that is lost. A janitor that saw only the
pool's own figure would go on deleting until nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable

from tierdeck.l2.janitor_runs import JanitorRun
from tierdeck.l2.pool_file import PoolRoom

OWED_SECONDS = 900.0
"""So long it may come yet; after that it is taken for lost, and other files have to go for it."""


class Owed:
    """What one pool owes for its last round."""

    def __init__(self) -> None:
        self._run: JanitorRun | None = None
        self._bytes = 0.0

    def remember(self, run: JanitorRun) -> None:
        """A round that is over, or was cut off."""
        self._run, self._bytes = run, float(run.deleted_bytes)

    def at(self, now: float, used_bytes: float, written: Callable[[float], float]) -> float:
        """Bytes; never more than at the look before.

        Args:
            written: bytes that may have been written to the pool since a moment.
        """
        run = self._run
        if run is None or now >= (run.ended_at if run.ended_at is not None else run.started_at) + OWED_SECONDS:
            return 0.0
        self._bytes = min(self._bytes, outstanding(run, used_bytes, written(run.started_at)))
        return self._bytes


def outstanding(run: JanitorRun, used_bytes: float, written_bytes: float) -> float:
    """Of what a round deleted, what the pool's use has not fallen by; all of it where that is not known."""
    if run.used_before_bytes is None:
        return float(run.deleted_bytes)
    return max(0.0, run.deleted_bytes - max(0.0, run.used_before_bytes - used_bytes + written_bytes))


def with_owed(room: PoolRoom, owed_bytes: float) -> PoolRoom:
    """As the pool will be."""
    return PoolRoom(room.capacity_bytes, max(0.0, room.used_bytes - owed_bytes))
