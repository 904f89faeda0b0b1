"""A histogram's increase over a window, merged by bound, with quantiles that say how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import ge


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile: `value` within [low, high], or only `at_least` where it fell into +Inf."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    at_least: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations per bucket.

    `bounds`: finite upper bounds, ascending. `counts`: one per bound plus the +Inf bucket, not
    cumulative. `layouts_differ`: at least two layouts were merged, on the bounds that all share.
    """

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float = 0.0
    layouts_differ: bool = False

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.bounds) + 1:
            raise ValueError(f"{len(self.bounds)} bounds need {len(self.bounds) + 1} counts, not {len(self.counts)}")
        if any(map(ge, self.bounds, self.bounds[1:])):
            raise ValueError("bounds must ascend")
        if any(map((0.0).__gt__, self.counts)):
            raise ValueError("a bucket's count can't be negative")

    @classmethod
    def from_cumulative(cls, bounds: tuple[float, ...], cumulative: tuple[float, ...], total: float) -> Histogram:
        """From counts as exposed (`le`): a cumulative count below its predecessor counts as equal to it."""
        counts, before = [], 0.0
        for count in cumulative:
            if count > before:
                counts.append(count - before)
                before = count
            else:
                counts.append(0.0)
        return cls(bounds, tuple(counts), total)

    @property
    def count(self) -> float:
        return sum(self.counts)

    def __add__(self, other: Histogram) -> Histogram:
        """The sum of both, on the bounds that both have."""
        if self.bounds == other.bounds:
            counts = tuple(map(float.__add__, map(float, self.counts), map(float, other.counts)))
            differ = self.layouts_differ or other.layouts_differ
            return Histogram(self.bounds, counts, self.sum + other.sum, differ)
        shared = tuple(sorted(set(self.bounds) & set(other.bounds)))
        mine, theirs = self._rebinned(shared), other._rebinned(shared)
        counts = tuple(a + b for a, b in zip(mine, theirs, strict=True))
        return Histogram(shared, counts, self.sum + other.sum, layouts_differ=True)

    def _rebinned(self, bounds: tuple[float, ...]) -> tuple[float, ...]:
        """The counts on a subset of the bounds."""
        cumulative = dict(zip(self.bounds, accumulate(self.counts), strict=False))
        at = [0.0, *(cumulative[bound] for bound in bounds), self.count]
        return tuple(high - low for low, high in pairwise(at))

    def quantile(self, q: float) -> Quantile:
        """Linear interpolation within the bucket, as PromQL's histogram_quantile; 0 below the first bound.

        Raises:
            ValueError: q outside [0, 1].
        """
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile lies in [0, 1], not {q}")
        total = self.count
        if total == 0:
            return Quantile(reason="no observations in the window")
        rank, below = q * total, 0.0
        for index, count in enumerate(self.counts[:-1]):
            if count and below + count >= rank:
                low = self.bounds[index - 1] if index else min(0.0, self.bounds[0])
                high = self.bounds[index]
                return Quantile(low + (high - low) * max(0.0, rank - below) / count, low, high)
            below += count
        if not self.bounds:
            return Quantile(reason="the histograms share no bucket bound")
        return Quantile(at_least=self.bounds[-1])
