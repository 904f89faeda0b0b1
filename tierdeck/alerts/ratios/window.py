"""The last minutes of one ratio, and sums over as many of them as tell enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

MINUTE_SECONDS = 60.0
LONG_MINUTES = 15
SHORT_MINUTES = 5
# With little traffic the long window reaches back as far as this, and no further: an hour later is too late.
LENGTHS_MINUTES = (LONG_MINUTES, 30, 60)


@dataclass(frozen=True, slots=True)
class Sample:
    """One minute with traffic.

    Attributes:
        tokens: looked up. hits: of them those that the ratio counts.
        residual: points above what is usual (below: negative); None: nothing is known to be usual.
    """

    at: float
    tokens: float
    hits: float
    requests: float
    residual: float | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Sums over the last minutes.

    Attributes:
        length: of the window, in minutes. minutes: of them those with traffic.
        alike: so many requests of one length tell as much: where a few long ones outweigh the rest, fewer.
        ratio, residual: in points, weighted by tokens.
    """

    length: float
    minutes: int
    tokens: float
    requests: float
    alike: float
    ratio: float
    residual: float | None


class Window:
    """Minutes with traffic of the last hour."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque()

    def add(self, sample: Sample) -> None:
        self._samples.append(sample)
        while self._samples[0].at <= sample.at - LENGTHS_MINUTES[-1] * MINUTE_SECONDS:
            self._samples.popleft()

    def clear(self) -> None:
        self._samples.clear()

    def back(self, seconds: float) -> Iterator[Sample]:
        """The newest first, none that began `seconds` before the newest or earlier."""
        if self._samples:
            oldest = self._samples[-1].at - seconds
            for sample in reversed(self._samples):
                if sample.at <= oldest:
                    return
                yield sample

    def span(self, seconds: float) -> Span:
        """Nothing at all is a span of 0 minutes."""
        minutes, tokens, hits, requests = 0, 0.0, 0.0, 0.0
        strayed, strayed_tokens, squares = 0.0, 0.0, 0.0
        # Not over `back`: this loop is half of what a minute of a thousand endpoints costs.
        oldest = self._samples[-1].at - seconds if self._samples else 0.0
        for sample in reversed(self._samples):
            if sample.at <= oldest:
                break
            weight = sample.tokens
            minutes += 1
            tokens += weight
            hits += sample.hits
            requests += sample.requests
            squares += weight * weight / max(sample.requests, 1.0)
            if sample.residual is not None:
                strayed += sample.residual * weight
                strayed_tokens += weight
        ratio = 100.0 * hits / tokens if tokens else 0.0
        # A mean of a few minutes that have one, among many that have none, would be called that of all.
        residual = strayed / strayed_tokens if strayed_tokens > tokens / 2 else None
        alike = tokens * tokens / squares if squares else 0.0
        return Span(seconds / MINUTE_SECONDS, minutes, tokens, requests, alike, ratio, residual)

    def enough(self, least_requests: float, least_tokens: float) -> Span | None:
        """The shortest of the long windows with enough traffic, in at least `SHORT_MINUTES` different minutes.

        One burst is one event, however many requests it has: they have much in common.
        """
        for length in LENGTHS_MINUTES:
            span = self.span(length * MINUTE_SECONDS)
            if span.requests >= least_requests and span.tokens >= least_tokens and span.minutes >= SHORT_MINUTES:
                return span
        return None

    def newest(self, count: int) -> list[Sample]:
        """The newest first."""
        samples = self._samples
        return [samples[-place] for place in range(1, min(count, len(samples)) + 1)]
