"""What is usual for a ratio at a time of day: learnt from days of the same kind, or else from the last hours."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SLOT_SECONDS = 600.0
DAY_SECONDS = 86400.0
SLOTS_A_DAY = 144
_DAYS_KEPT = 21
_DAYS_USED = 14
_TRAIL_SLOTS = 30
_TRAIL_SECONDS = 8 * 3600.0
# An hour of figures says where the level is; with less nothing is called usual.
_LEAST_TRAIL = 6
_JUMP_POINTS = 4.0
_MOST_REACH = 3


@dataclass(frozen=True, slots=True)
class Expected:
    """What is usual now, in points.

    Attributes:
        value: the level.
        guard: the least drop that may be called one, as surely as the level is known.
        level: where the ratio itself was some hours ago: it has to have fallen from there too. None: need not.
        days: of this kind that it was learnt from; 0: of the other kind, or of the last hours alone.
        slow: what a slow loss is held against; None: nothing is known that would not sink with it.
    """

    value: float
    guard: float
    level: float | None = None
    days: int = 0
    slow: float | None = None

    def widened(self, minutes: float) -> float:
        """What the noise of a window grows by, since what is usual was itself learnt from noisy slots.

        The variance of a median of n is 1.57 / n of one's; a day gives about 7 slots.
        """
        return math.sqrt(1.0 + 1.57 / 7.0 * (minutes * 60.0 / SLOT_SECONDS) / min(max(self.days, 1), 3))


@dataclass(frozen=True, slots=True)
class Guards:
    """The least drop, in points, by what is known.

    Attributes:
        days: two days or more of this kind. day: one.
        other_kind: days of the other kind, moved by what this kind's hours were above or below them.
        new_kind: the first hours of a kind never seen: it may be anywhere.
        hours: nothing but the last hours.
    """

    days: float
    day: float
    other_kind: float
    new_kind: float = 24.0
    hours: float = 12.0


class Usual:
    """Levels by slot of ten minutes.

    Args:
        utc_offset_seconds: of the clock that days and weekends go by.
    """

    def __init__(self, guards: Guards, utc_offset_seconds: float = 0.0) -> None:
        self._guards = guards
        self._offset = utc_offset_seconds
        self._days: dict[int, array[float]] = {}
        # Medians of `_levels` by its arguments, until a slot of that kind of day is learnt.
        self._middles: tuple[dict[float, float | None], dict[float, float | None]] = ({}, {})
        self._trail: deque[tuple[float, float]] = deque(maxlen=_TRAIL_SLOTS)
        self._first_apart: list[float] = []

    def learn(self, at: float, level: float) -> None:
        """The level of the slot that began at `at`; slots come in order."""
        day, slot = self._place(at)
        if day not in self._days:
            self._days[day] = array("f", [math.nan]) * SLOTS_A_DAY
            for old in [other for other in self._days if other <= day - _DAYS_KEPT]:
                del self._days[old]
        self._days[day][slot] = level
        self._changed(day, slot)
        if self._trail and is_weekend(self._place(self._trail[-1][0])[0]) != is_weekend(day):
            self._first_apart.clear()
        if len(self._first_apart) < 2 * _LEAST_TRAIL:
            other = self._middle(at, weekend=not is_weekend(day))
            if other is not None:
                self._first_apart.append(level - other)
        self._trail.append((at, level))

    def forget(self, since: float) -> None:
        """What was learnt of slots that ended after `since`."""
        for at, _ in [entry for entry in self._trail if entry[0] + SLOT_SECONDS > since]:
            day, slot = self._place(at)
            self._days[day][slot] = math.nan
            self._changed(day, slot)
        self._trail = deque((entry for entry in self._trail if entry[0] + SLOT_SECONDS <= since), maxlen=_TRAIL_SLOTS)

    def restart(self) -> None:
        """Nothing is usual any more."""
        self._days.clear()
        self._forget_middles()
        self._trail.clear()
        self._first_apart.clear()

    def expected(self, at: float) -> Expected | None:
        """What is usual at `at`; None: too little is known."""
        day, _ = self._place(at)
        if found := self._levels(at, is_weekend(day)):
            level = _median(found)
            return Expected(
                level, self._guards.days if len(found) > 1 else self._guards.day, days=len(found), slow=level
            )
        other = self._middle(at, weekend=not is_weekend(day))
        if other is not None:
            return self._of_the_other_kind(other, day)
        trail = [level for then, level in self._trail if at - then <= _TRAIL_SECONDS]
        if len(trail) < _LEAST_TRAIL:
            return None
        return Expected(_median(trail[-4 * _LEAST_TRAIL :]), self._guards.hours)

    def _of_the_other_kind(self, level: float, day: int) -> Expected:
        """The other kind's days, moved by what the hours since this kind began are apart from them."""
        kind = is_weekend(day)
        # Of any age: what has been wrong since then was not learnt, and these are still the last good hours.
        known = [
            (own, own - other, is_weekend(self._place(at)[0]) == kind)
            for at, own in self._trail
            if (other := self._middle(at, weekend=not kind)) is not None
        ]
        here = [(own, apart) for own, apart, is_same in known if is_same]
        before = [(own, apart) for own, apart, is_same in known if not is_same]
        if len(here) < _LEAST_TRAIL:
            return Expected(level, self._guards.new_kind)
        if _goes_on(before, here):
            here = before + here
        # The older hours: what has sunk for four of them has not sunk in these.
        here = here[: max(_LEAST_TRAIL, len(here) // 3)]
        moved = _bounded(level + _median(apart for _, apart in here))
        slow = _bounded(level + _median(self._first_apart)) if len(self._first_apart) >= _LEAST_TRAIL else None
        return Expected(moved, self._guards.other_kind, _median(own for own, _ in here), slow=slow)

    def _middle(self, at: float, *, weekend: bool) -> float | None:
        """The median of its levels; None: no day of that kind is known."""
        known = self._middles[weekend]
        if at not in known:
            levels = self._levels(at, weekend)
            known[at] = _median(levels) if levels else None
        return known[at]

    def _changed(self, day: int, slot: int) -> None:
        """A level did. Beside midnight it tells of the day before or after too, which may be of the other kind."""
        if _MOST_REACH <= slot < SLOTS_A_DAY - _MOST_REACH:
            self._middles[is_weekend(day)].clear()
        else:
            self._forget_middles()

    def _forget_middles(self) -> None:
        for known in self._middles:
            known.clear()

    def _levels(self, at: float, weekend: bool) -> list[float]:  # noqa: FBT001 — one of two kinds of day
        """One level a day: the median of that slot and its neighbours."""
        day, slot = self._place(at)
        pasts = sorted((one for one in self._days if one != day and is_weekend(one) == weekend), reverse=True)
        # A single day's slot is as noisy as its traffic makes it: while days are few, more of each is taken.
        reach = _MOST_REACH if len(pasts) <= 3 else 2 if len(pasts) <= 5 else 1
        first, end = slot - reach, slot + reach + 1
        found: list[float] = []
        for past in pasts[:_DAYS_USED]:
            levels = [level for level in self._around(past, first, end) if level == level]  # noqa: PLR0124 — not NaN
            if levels:
                found.append(_median(levels))
        return found

    def _around(self, day: int, first: int, end: int) -> Sequence[float]:
        """Levels of a day's slots; those before its first and after its last are of its neighbours."""
        if first >= 0 and end <= SLOTS_A_DAY:
            return self._days[day][first:end]
        slots = [divmod(slot, SLOTS_A_DAY) for slot in range(first, end)]
        return [self._days[day + apart][slot] for apart, slot in slots if day + apart in self._days]

    def _place(self, at: float) -> tuple[int, int]:
        """(day since the epoch, slot of the day)."""
        local = at + self._offset
        day = math.floor(local / DAY_SECONDS)
        return day, min(int((local - day * DAY_SECONDS) // SLOT_SECONDS), SLOTS_A_DAY - 1)


def _goes_on(before: list[tuple[float, float]], here: list[tuple[float, float]]) -> bool:
    """The new kind of day began where the old one ended, so that the hours before tell of it too."""
    if len(before) < _LEAST_TRAIL:
        return False
    last, first = before[-_LEAST_TRAIL:], here[:_LEAST_TRAIL]
    return abs(_median(apart for _, apart in first) - _median(apart for _, apart in last)) < _JUMP_POINTS


def _median(values: Iterable[float]) -> float:
    """That of `statistics`, without what it checks: this is most of what learning costs."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _bounded(points: float) -> float:
    return min(max(points, 0.0), 100.0)


def is_weekend(day: int) -> bool:
    """Day 0 of the epoch was a Thursday."""
    return (day + 3) % 7 >= 5
