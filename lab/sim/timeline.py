"""Simulated time: what happens next, in order, without waiting; the same order every time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

Event = Callable[[], None]


class Timeline:
    """Events by simulated second; those of one moment happen in the order in which they were planned.

    Simulated seconds pass `speed` times as fast as those of the wall clock, on which everything that is
    exported as a time is expressed.
    """

    def __init__(self, began_at: float, speed: float = 1.0) -> None:
        """
        Args:
            began_at: epoch seconds of simulated second 0.
        """
        if speed <= 0:
            raise ValueError("time must go on: the speed is above 0")
        self.now = 0.0
        self.began_at = began_at
        self.speed = speed
        self._planned: list[tuple[float, int, Event]] = []
        self._number = 0

    def wall(self, at: float | None = None) -> float:
        """Epoch seconds of a simulated moment, now by default."""
        return self.began_at + (self.now if at is None else at) / self.speed

    def at(self, moment: float, event: Event) -> None:
        """Plan an event; one in the past happens next."""
        heapq.heappush(self._planned, (max(moment, self.now), self._number, event))
        self._number += 1

    def after(self, seconds: float, event: Event) -> None:
        self.at(self.now + seconds, event)

    def run_until(self, moment: float) -> None:
        """Let everything happen up to a moment, and stand there."""
        planned = self._planned
        while planned and planned[0][0] <= moment:
            self.now, _, event = heapq.heappop(planned)
            event()
        self.now = max(self.now, moment)
