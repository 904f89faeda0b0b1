"""How fast files may go: so many a second, and so many bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rates:
    """At most so much a second."""

    files: float = 100.0
    size_bytes: float = 4 * 2.0**30

    def __post_init__(self) -> None:
        if min(self.files, self.size_bytes) <= 0:
            raise ValueError("a rate lies above 0")

    def bytes_of(self, mean_size_bytes: float) -> float:
        """What both allow together, for files of this size."""
        return min(self.size_bytes, self.files * mean_size_bytes)


class Throttle:
    """A budget that fills up with time, to one second's worth at most.

    Args:
        now: seconds of a clock that only goes forward.
    """

    def __init__(self, rates: Rates, now: float) -> None:
        self._rates = rates
        self._at = now
        self._files = 1.0
        self._bytes = 0.0

    def refill(self, now: float) -> None:
        """Time went by."""
        passed = max(0.0, now - self._at)
        self._at = max(self._at, now)
        most_files = max(1.0, self._rates.files)
        self._files = min(most_files, self._files + passed * self._rates.files)
        self._bytes = min(self._rates.size_bytes, self._bytes + passed * self._rates.size_bytes)

    def take(self, size_bytes: int) -> bool:
        """Whether a file may go now. One larger than a second's worth goes on credit, and the next ones wait for it."""
        if self._files < 1.0 or self._bytes < min(size_bytes, self._rates.size_bytes):
            return False
        self._files -= 1.0
        self._bytes -= size_bytes
        return True
