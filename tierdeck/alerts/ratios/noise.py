"""How far a ratio strays from what is usual when nothing is wrong."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median

from tierdeck.alerts.ratios.window import Sample

# Of a normal distribution: standard deviation / median of the absolute deviations.
_MAD = 1.4826
# Of a variance of ten: median / mean.
_MEDIAN = 0.93
# Before anything is learnt: two points from slot to slot, and 30 points a request (hits of 20 % to 80 %).
_SLOT_POINTS = 2.0
_REQUEST_POINTS = 30.0
_LEAST_SLOTS = 36
_EVERY_SLOTS = 18
_HOUR_SLOTS = 6
_LEAST_HOURS = 12
SLOTS_KEPT = 1008
"""Older slots say nothing of it."""


class Noise:
    """Three parts: of slots and of hours (levels that differ from day to day, slow waves), and of single requests."""

    def __init__(self) -> None:
        self._slots: deque[float] = deque(maxlen=SLOTS_KEPT)
        self._hours: deque[float] = deque(maxlen=168)
        self._hour: list[float] = []
        self._shares: deque[float] = deque(maxlen=288)
        self._requests: deque[float] = deque(maxlen=288)
        self._slot_points = self._hour_points = _SLOT_POINTS
        self._request_points = _REQUEST_POINTS
        self._seen = 0

    def learn(self, residual: float, alike: float, samples: Sequence[Sample], *, is_sure: bool = True) -> None:
        """One slot that nothing was wrong in: how far it strayed, its requests, and its minutes with residuals.

        Args:
            is_sure: it strayed from days. What it strays from the last hours is the day's rhythm, and no noise.
        """
        self._shares.append(1.0 / max(alike, 1.0))
        if is_sure:
            self._slots.append(abs(residual))
            self._hour.append(residual)
        if len(self._hour) == _HOUR_SLOTS:
            self._hours.append(abs(sum(self._hour)) / _HOUR_SLOTS)
            self._hour.clear()
        if len(samples) >= 3:
            # Variance of a minute times its requests: the same whether traffic is high or low.
            spread = sum(
                one.requests * (one.residual - residual) ** 2 for one in samples if one.residual is not None
            ) / (len(samples) - 1)
            self._requests.append(spread)
        self._seen += 1
        if self._seen % _EVERY_SLOTS == 0:
            self._reckon()

    def points(self, alike: float) -> float:
        """Standard deviation of a window with so many requests (`alike` of a span)."""
        return math.sqrt(self._slot_points**2 + self._request_points**2 / max(alike, 1.0))

    def hour_points(self, alike: float) -> float:
        """Of an hour with so many requests: slow waves even out in it, days' levels do not."""
        return math.sqrt(self._hour_points**2 + self._request_points**2 / max(alike, 1.0))

    def minute_points(self, alike: float) -> float:
        """Of minutes with so many requests against their neighbours: without what moves whole slots."""
        return self._request_points / math.sqrt(max(alike, 1.0))

    def _reckon(self) -> None:
        if len(self._requests) >= _LEAST_SLOTS:
            self._request_points = math.sqrt(median(self._requests) / _MEDIAN)
        prior = _SLOT_POINTS * max(0.0, 1.0 - len(self._slots) / (3 * _LEAST_SLOTS))
        # Slots and hours stray for both reasons; what single requests do to them is reckoned apart.
        by_request = self._request_points**2 * median(self._shares)
        if self._slots:
            self._slot_points = max(_apart(self._slots, by_request), prior)
        if len(self._hours) >= _LEAST_HOURS:
            self._hour_points = max(_apart(self._hours, by_request / _HOUR_SLOTS), prior)


def _apart(strayed: Sequence[float] | deque[float], by_request: float) -> float:
    return math.sqrt(max((_MAD * median(strayed)) ** 2 - by_request, 0.0))
