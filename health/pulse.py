"""When the loops of a process last came round: what tells a process that works from one that merely answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

HUNG_SECONDS = 300.0
"""A loop that comes round every few seconds, and hasn't for so long, hangs. A store or a server that is away does not
hold a loop for that long: waiting for it has time limits, and what fails is tried again in the next round.
"""


class Pulse:
    """The rounds of several loops; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: seconds that only go forward.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._rounds: dict[str, tuple[float, float]] = {}

    def beat(self, loop: str, within_seconds: float = HUNG_SECONDS) -> None:
        """A loop came round, and will again within this time; the first time, it begins to be watched."""
        with self._lock:
            self._rounds[loop] = self._clock(), within_seconds

    def trouble(self) -> str:
        """One sentence about the loops that hang; empty: all come round."""
        with self._lock:
            now = self._clock()
            hung = {loop: now - at for loop, (at, within) in self._rounds.items() if now - at > within}
        return "; ".join(f"the loop {loop} has not come round for {since:.0f} s" for loop, since in hung.items())
