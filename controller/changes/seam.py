"""The points between two effects that others see: where a test kills the controller, to see that it goes on rightly."""

from __future__ import annotations

from typing import Protocol


class Seam(Protocol):
    """Told of each point as it is passed."""

    def at(self, point: str) -> None:
        """`point`: a word or two, such as `moved applying`."""
        ...


class NoSeam:
    """Nobody listens."""

    def at(self, point: str) -> None:
        """Nothing happens."""
