"""When the loops of a process last came round, and how: what tells one that works from one that merely answers."""

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
        self._faults: dict[str, str] = {}

    def beat(self, loop: str, within_seconds: float = HUNG_SECONDS) -> None:
        """A loop came round, and will again within this time; the first time, it begins to be watched."""
        with self._lock:
            self._rounds[loop] = self._clock(), within_seconds

    def tell(self, loop: str, trouble: str) -> None:
        """What a loop that comes round fails at; empty: at nothing any more."""
        with self._lock:
            self._faults[loop] = trouble

    def trouble(self) -> str:
        """One sentence about the loops that hang or fail; empty: all come round, and do their work."""
        with self._lock:
            now = self._clock()
            hung = {loop: now - at for loop, (at, within) in self._rounds.items() if now - at > within}
            failing = [f"the loop {loop} fails: {told}" for loop, told in self._faults.items() if told]
        return "; ".join(
            [*(f"the loop {loop} has not come round for {since:.0f} s" for loop, since in hung.items()), *failing]
        )
