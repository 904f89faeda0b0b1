"""The windows that a view can look back over, and how often each is looked at anew."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tierdeck.resolution import Resolution

_LONGEST_STEP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Window:
    """`name` stands in the URL, `words` on the page; a new end at least every `step_seconds`."""

    name: str
    seconds: float
    words: str
    step_seconds: float

    @property
    def resolution(self) -> Resolution:
        return Resolution.for_window(self.seconds)

    def step(self, interval_seconds: float) -> float:
        """Seconds from one end to the next.

        Args:
            interval_seconds: between two scrapes; nothing changes faster.
        """
        return max(self.step_seconds, min(interval_seconds, _LONGEST_STEP_SECONDS))

    def ends_at(self, now: float, interval_seconds: float = 0.0) -> float:
        """`now` back to the last step, so that all who look within a step share one cached answer."""
        step = self.step(interval_seconds)
        return math.floor(now / step) * step


WINDOWS = {
    window.name: window
    for window in (
        Window("15m", 900, "15 minutes", 5),
        Window("1h", 3600, "hour", 10),
        Window("6h", 6 * 3600, "6 hours", 30),
        Window("24h", 86400, "24 hours", 30),
        Window("7d", 7 * 86400, "7 days", 60),
        Window("30d", 30 * 86400, "30 days", 60),
    )
}
DEFAULT = "15m"
