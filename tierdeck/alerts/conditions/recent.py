"""The last minutes of each subject."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from tierdeck.alerts.alert import Subject

MINUTE = 60.0

T = TypeVar("T")


class Recent(Generic[T]):
    """Values of the last `minutes` minutes, oldest first, each with the start of its minute."""

    def __init__(self, minutes: int) -> None:
        self._span = minutes * MINUTE
        self._kept: dict[Subject, deque[tuple[float, T]]] = {}

    def add(self, subject: Subject, at: float, value: T) -> Sequence[tuple[float, T]]:
        """Keep it, and give what is kept of this subject; a value of the same minute replaces the one before."""
        kept = self._kept.setdefault(subject, deque())
        while kept and kept[-1][0] >= at:
            kept.pop()
        kept.append((at, value))
        while kept[0][0] <= at - self._span:
            kept.popleft()
        return kept

    def forget(self, subject: Subject) -> None:
        """Begin anew with it."""
        self._kept.pop(subject, None)

    def keep_only(self, subjects: Iterable[Subject]) -> None:
        """Forget the others: they are gone from the inventory."""
        wanted = set(subjects)
        for gone in [subject for subject in self._kept if subject not in wanted]:
            del self._kept[gone]


def total(kept: Iterable[T], of: Callable[[T], float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in map(of, kept) if value is not None]
    return sum(known) if known else None
