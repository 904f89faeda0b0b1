"""A slow loss: CUSUM over slots of ten minutes, each with a bounded say, and a depth over the last hour."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.alerts.ratios.drop import Strayed
from tierdeck.alerts.ratios.series import Series, Slot
from tierdeck.alerts.ratios.usual import SLOT_SECONDS, Expected

_HOUR_SLOTS = 6
_SLOT_MINUTES = SLOT_SECONDS / 60.0
# What a loss may be without being one, in points; and the most that one slot may add to it: a blip adds little.
_SLACK_POINTS = 4.0
_SLACK_DEVIATIONS = 0.75
_MOST_POINTS = 8.0
# Points times minutes, above the slack: such as 4 points for an hour.
_TRIP = 240.0
_TRIP_DEVIATIONS = 5.0
# Where this kind of day was never seen, its own rhythm may be so far from the other kind's.
_UNSURE_POINTS = 6.0


@dataclass(frozen=True, slots=True)
class DriftLimits:
    least_requests: float
    least_points: float
    deviations: float = 3.5


class Drift:
    """Judges one series slot by slot; between two slots it says the same."""

    def __init__(self, limits: DriftLimits) -> None:
        self._limits = limits
        self._sum = 0.0
        self._began: float | None = None
        self._hour: list[Slot] = []
        self._was_bad = False

    @property
    def began_at(self) -> float | None:
        """When it began to sink; None: it does not."""
        return self._began

    def reset(self) -> None:
        self._sum, self._began, self._hour, self._was_bad = 0.0, None, [], False

    def ease(self) -> None:
        """A drop is over: what it added is explained, and does not count as a slow loss."""
        self._sum = 0.0

    def add(self, slot: Slot, series: Series, expected: Expected | None) -> None:
        """One slot that ended; `expected` is what was usual then."""
        if slot.slow is None or expected is None:
            return
        self._hour = [one for one in self._hour if slot.at - one.at < _HOUR_SLOTS * SLOT_SECONDS] + [slot]
        noise = series.noise.points(slot.alike)
        slack = max(_SLACK_POINTS, _SLACK_DEVIATIONS * noise) + (0.0 if expected.days else _UNSURE_POINTS)
        # Bounded, so that a drop that lasted does not keep this up for hours after it is over.
        most = 2.0 * _trip(noise)
        self._sum = min(max(0.0, self._sum + _SLOT_MINUTES * min(-slot.slow - slack, _MOST_POINTS)), most)
        if self._sum == 0.0:
            self._began = None
        elif self._began is None:
            self._began = slot.at

    def judge(self, series: Series, now: Strayed | None) -> Strayed | None:
        """None: too little is known of the last hour."""
        requests = sum(slot.requests for slot in self._hour)
        expected = series.expected
        if (
            now is None
            or expected is None
            or len(self._hour) < _HOUR_SLOTS - 2
            or requests < self._limits.least_requests
        ):
            return None
        strayed = [slot.slow for slot in self._hour if slot.slow is not None]
        depth = -sum(strayed) / len(strayed)
        alike = sum(slot.alike for slot in self._hour)
        noise = series.noise.hour_points(alike) * expected.widened(60.0)
        least = max(self._limits.least_points, self._limits.deviations * noise)
        least += 0.0 if expected.days > 1 else 2.0 if expected.days else _UNSURE_POINTS
        trip = _trip(series.noise.points(alike / len(self._hour)))
        is_bad = self._sum >= trip and depth >= least and now.depth > least / 2
        is_clear = not is_bad and now.depth <= least / 2
        if is_clear and self._was_bad:
            self._sum = 0.0
        self._was_bad = is_bad or (self._was_bad and not is_clear)
        return Strayed(is_bad, is_clear, now.span, expected, depth, least)


def _trip(noise: float) -> float:
    return max(_TRIP, _TRIP_DEVIATIONS * noise * _SLOT_MINUTES)
