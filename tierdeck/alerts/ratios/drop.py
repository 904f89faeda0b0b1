"""A sudden loss: far below what is usual over a long window, and in the minutes at its end too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tierdeck.alerts.ratios.series import Series
from tierdeck.alerts.ratios.usual import Expected
from tierdeck.alerts.ratios.window import LENGTHS_MINUTES, MINUTE_SECONDS, SHORT_MINUTES, Sample, Span

# A condition that has begun goes on at this part of the trip, so that noise does not break the hold.
_GOES_ON = 0.8
_YOUNG_SECONDS = 1200.0
# A recovery: the ratio rises this fast, in points a minute, and surely so (in standard errors of the slope).
_RISING_POINTS = 0.5
_RISING_ERRORS = 1.5
# Or this part of the first minutes' loss is back, by so many standard errors.
_HEALED_PART = 0.35
_HEALED_ERRORS = 3.0
# One look that sees it rise is believed for so long, and all looks together no longer than an hour after the drop.
_BELIEVED_SECONDS = 480.0
_RECOVERY_SECONDS = 3600.0
_STALE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class DropLimits:
    """Of one kind of ratio.

    Attributes:
        deviations: standard deviations of such a window that a drop has at least.
        own_points: how far it fell from its own level of some hours ago, where what is usual is not certain.
    """

    least_requests: float
    least_tokens: float
    deviations: float
    own_points: float = 2.0


@dataclass(frozen=True, slots=True)
class Strayed:
    """What one minute shows. Points; `depth` is above 0 where the ratio is below what is usual."""

    is_bad: bool
    is_clear: bool
    span: Span
    expected: Expected
    depth: float
    trip: float
    is_recovering: bool = False


class Drop:
    """Judges one series; keeps since when it is down."""

    def __init__(self, limits: DropLimits) -> None:
        self._limits = limits
        self._was_bad = False
        self._since: float | None = None
        self._believed_until = -math.inf

    @property
    def since(self) -> float | None:
        """When it fell; None: it is not down."""
        return self._since

    def reset(self) -> None:
        self._was_bad, self._since, self._believed_until = False, None, -math.inf

    def judge(self, series: Series) -> Strayed | None:
        """None: too little traffic, or nothing is known to be usual."""
        expected = series.expected
        short = series.window.newest(SHORT_MINUTES)
        if expected is None or len(short) < SHORT_MINUTES or short[0].at - short[-1].at > LENGTHS_MINUTES[-1] * 60:
            return None
        found: Strayed | None = None
        for minutes in LENGTHS_MINUTES:
            span = series.window.span(minutes * MINUTE_SECONDS)
            if not self._is_enough(span):
                continue
            found = self._strayed(series, span, expected, short)
            if found is None or found.is_bad or found.trip <= expected.guard:
                break
        if found is not None:
            found = self._followed(series, found)
        return found

    def _is_enough(self, span: Span) -> bool:
        limits = self._limits
        return (
            span.requests >= limits.least_requests
            and span.tokens >= limits.least_tokens
            and span.minutes >= SHORT_MINUTES
        )

    def _strayed(self, series: Series, span: Span, expected: Expected, short: Sequence[Sample]) -> Strayed | None:
        if span.residual is None:
            return None
        depth = -span.residual
        trip = max(
            expected.guard, self._limits.deviations * series.noise.points(span.alike) * expected.widened(span.length)
        )
        wanted = trip * (_GOES_ON if self._is_young(short[0].at) else 1.0)
        has_fallen = expected.level is None or expected.level - span.ratio >= self._limits.own_points
        is_bad = depth >= wanted and has_fallen and self._is_down(short, max(trip, depth) / 2)
        return Strayed(is_bad, not is_bad and self._is_clear(series, depth, trip), span, expected, depth, trip)

    def _is_down(self, short: Sequence[Sample], points: float) -> bool:
        """Four of the last five minutes, so that three minutes of anything are no drop; then three go on.

        Minutes that make half of what the long window lost: a little noise beside three deep ones does not.
        """
        deep = sum(one.residual is not None and one.residual <= -points for one in short)
        return deep >= (3 if self._is_young(short[0].at) else 4)

    def _is_young(self, now: float) -> bool:
        """It has begun and may not fire yet."""
        return self._was_bad and self._since is not None and now - self._since < _YOUNG_SECONDS

    @staticmethod
    def _is_clear(series: Series, depth: float, trip: float) -> bool:
        """By half of the trip, over the shortest window that can tell half a trip from noise."""
        span = series.window.span(SHORT_MINUTES * MINUTE_SECONDS)
        if span.residual is not None and 4 * series.noise.minute_points(span.alike) <= trip:
            depth = -span.residual
        return depth <= trip / 2

    def _followed(self, series: Series, found: Strayed) -> Strayed:
        now = series.window.newest(1)[0].at
        self._was_bad = found.is_bad
        if not found.is_bad:
            if found.is_clear:
                self._since = None
            return found
        down = self._down(series, found.trip)
        if self._since is None:
            self._since = down[-1].at if down else now
        if is_rising(down) or has_healed(down):
            self._believed_until = now + _BELIEVED_SECONDS
        is_recovering = now < min(self._believed_until, self._since + _RECOVERY_SECONDS)
        return replace(found, is_recovering=is_recovering)

    @staticmethod
    def _down(series: Series, trip: float) -> list[Sample]:
        """The minutes since it fell, newest first; a single better one among them does not end it."""
        down: list[Sample] = []
        better = 0
        for sample in series.window.back(_RECOVERY_SECONDS):
            if sample.residual is None or sample.residual > -trip / 3:
                better += 1
                if better == 2:
                    break
            else:
                better = 0
                down.append(sample)
        # It fell where it was deep for the first time; noise just before that is not part of it.
        deepest = min((one.residual for one in down if one.residual is not None), default=0.0)
        while down and down[-1].residual is not None and down[-1].residual > deepest / 2:
            down.pop()
        return down


def has_healed(samples: Sequence[Sample]) -> bool:
    """A good part of what was lost at first is back, and more surely than noise would have it. Newest first."""
    strayed = [one.residual for one in samples if one.residual is not None]
    if len(strayed) < 2 * SHORT_MINUTES:
        return False
    now, first = strayed[:SHORT_MINUTES], strayed[-SHORT_MINUTES:]
    mean_now, mean_first = sum(now) / SHORT_MINUTES, sum(first) / SHORT_MINUTES
    spread = sum((one - mean_now) ** 2 for one in now) + sum((one - mean_first) ** 2 for one in first)
    error = math.sqrt(spread / (2 * SHORT_MINUTES - 2) * 2 / SHORT_MINUTES)
    return mean_now - mean_first >= max(_HEALED_PART * -mean_first, _HEALED_ERRORS * error)


def is_rising(samples: Sequence[Sample]) -> bool:
    """A line through residuals over minutes rises, and more surely than noise would have it. Newest first."""
    points = [((one.at - samples[0].at) / 60.0, one.residual) for one in samples if one.residual is not None]
    if len(points) < SHORT_MINUTES:
        return False
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points) / (len(points) - 2)
    return slope >= max(_RISING_POINTS, _RISING_ERRORS * math.sqrt(rest / spread))
