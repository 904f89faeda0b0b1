"""A number, or the reason why there is none: unknown is a value here, never 0, NaN or -1."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; `value` is None exactly when `reason` says why."""

    value: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if self.value is None and not self.reason:
            raise ValueError("an unknown figure needs its reason")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"a figure is finite, not {self.value}")

    @classmethod
    def unknown(cls, reason: str) -> Figure:
        """A figure that nobody can tell, with the reason."""
        return cls(None, reason)

    @property
    def known(self) -> bool:
        return self.value is not None

    def __add__(self, other: Figure) -> Figure:
        """The sum; unknown as soon as one part is unknown."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        return Figure(self.value + other.value)


ZERO = Figure(0.0)
_ROUNDING = 1e-9
"""Sums of floats may end this far beyond their range."""


@dataclass(frozen=True, slots=True)
class Ratio(Figure):
    """A share in [0, 1]; a share that would leave the range is unknown, never drawn."""

    def __post_init__(self) -> None:
        Figure.__post_init__(self)
        if self.value is not None and not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a ratio lies in [0, 1], not {self.value}")

    @classmethod
    def unknown(cls, reason: str) -> Ratio:
        return cls(None, reason)

    @classmethod
    def of(cls, part: Figure, whole: Figure) -> Ratio:
        """`part / whole`; unknown without traffic, or where the counters contradict each other."""
        if part.value is None:
            return cls.unknown(part.reason)
        if whole.value is None:
            return cls.unknown(whole.reason)
        if whole.value == 0:
            return cls.unknown("no prompt tokens looked up in the window")
        ratio = part.value / whole.value
        if not -_ROUNDING <= ratio <= 1 + _ROUNDING:
            return cls.unknown("the counters contradict each other: part above the whole")
        return cls(min(max(ratio, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class Bounded:
    """A figure that is known to lie in [low, high]; exact where the bounds meet."""

    figure: Figure
    low: Figure
    high: Figure

    @classmethod
    def exact(cls, value: float) -> Bounded:
        return cls(Figure(value), Figure(value), Figure(value))

    @classmethod
    def unknown(cls, reason: str) -> Bounded:
        nothing = Figure.unknown(reason)
        return cls(nothing, nothing, nothing)

    def __add__(self, other: Bounded) -> Bounded:
        """Sum of figures and of bounds: the sum's bounds hold because each part's do."""
        return Bounded(self.figure + other.figure, self.low + other.low, self.high + other.high)
