"""How finely time series are kept, and which resolution a window is read at."""

from __future__ import annotations

from enum import Enum


class Resolution(Enum):
    """Width of a stored row in seconds; RAW rows are one scrape interval wide."""

    RAW = 0
    MINUTE = 60
    TEN_MINUTES = 600
    HOUR = 3600

    @property
    def suffix(self) -> str:
        """The end of the tables' names."""
        return {0: "raw", 60: "1m", 600: "10m", 3600: "1h"}[self.value]

    @classmethod
    def for_window(cls, seconds: float) -> Resolution:
        """The coarsest that still draws a window of that length well (about 15 to 750 points)."""
        for limit, resolution in ((1800, cls.RAW), (6 * 3600, cls.MINUTE), (2 * 86400, cls.TEN_MINUTES)):
            if seconds <= limit:
                return resolution
        return cls.HOUR


ROLLUPS = (Resolution.MINUTE, Resolution.TEN_MINUTES, Resolution.HOUR)
