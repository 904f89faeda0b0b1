"""Day and night: how much of the usual traffic comes at an hour of the day."""

from __future__ import annotations

import math
from dataclasses import dataclass

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A day whose mean is 1.

    Attributes:
        swing: how far the busiest hour lies above the mean, and the quietest below; 0 for none.
        busiest_hour: of the day, UTC.
    """

    swing: float = 0.0
    busiest_hour: float = 15.0

    def __post_init__(self) -> None:
        if not 0 <= self.swing < 1:
            raise ValueError("the swing of a day lies between 0 and 1")

    def factor(self, at: float) -> float:
        """The factor at an epoch second."""
        phase = (at / DAY_SECONDS - self.busiest_hour / 24) * 2 * math.pi
        return 1 + self.swing * math.cos(phase)
