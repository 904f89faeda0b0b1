"""One engine process that is seen over several paths, so that it counts once.

A vLLM process is known by its start time and the instants at which its counters were created; both are
on its page unless PROMETHEUS_MULTIPROC_DIR is set. Without the latter, two pages with the same start
time and the same counters, some of them above 0, are one process if they belong to one replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from collectors.source import TargetReading
from tierdeck.readings import Reading

Identity = tuple[float, tuple[float, ...]]


def identity(reading: TargetReading) -> Identity | None:
    """Start time and creation times; None where one of them is not exported."""
    created = sorted(value for key, value in reading.gauges.items() if key.reading is Reading.CREATED)
    return (reading.start_time, tuple(created)) if reading.start_time is not None and created else None


def are_one(a: TargetReading, b: TargetReading) -> bool:
    """Both pages are surely one process's."""
    if a.start_time is None or a.start_time != b.start_time:
        return False
    if identity(a) is not None or identity(b) is not None:
        return identity(a) == identity(b)
    return look_alike(a, b)


def look_alike(a: TargetReading, b: TargetReading) -> bool:
    """Same start time and same counters, which is no proof between replicas."""
    return a.start_time == b.start_time is not None and a.counters == b.counters and any(a.counters.values())


class Paths:
    """Which targets of one replica are further paths to an engine that another target reads already."""

    def __init__(self, engines: Sequence[str], memory: Mapping[str, str] | None = None) -> None:
        self._engines = engines
        self._first: dict[str, str] = dict(memory or {})

    def memory(self) -> dict[str, str]:
        """The first path by further path; JSON-able."""
        return dict(self._first)

    @property
    def engines(self) -> list[str]:
        """One target for each process."""
        return [name for name in self._engines if name not in self._first]

    def once(self, readings: Mapping[str, TargetReading]) -> dict[str, TargetReading]:
        """Each process under its first path; a further path stands in where the first did not answer."""
        found = dict(readings)
        for number, name in enumerate(self._engines):
            reading = readings.get(name)
            if reading is None or not reading.recognised:
                continue
            self._place(name, reading, readings, self._engines[:number])
            first = self._first.get(name)
            if first is not None:
                del found[name]
                found.setdefault(first, reading)
        return found

    def _place(
        self, name: str, reading: TargetReading, readings: Mapping[str, TargetReading], before: Iterable[str]
    ) -> None:
        known = self._first.get(name)
        if known is not None:
            other = readings.get(known)
            if other is not None and other.start_time != reading.start_time:
                del self._first[name]
            return
        for one in before:
            other = readings.get(one)
            if one not in self._first and other is not None and are_one(other, reading):
                self._first[name] = one
                return


def same_processes(moments: Iterable[Mapping[str, Sequence[TargetReading]]]) -> tuple[dict[str, str], dict[str, str]]:
    """Replicas whose engine is another replica's: surely, and by the look of it at every moment.

    Args:
        moments: recognised pages of vLLM by replica, for each moment.

    Returns:
        twice the earlier replica by the later one, in order of names.
    """
    surely: dict[str, str] = {}
    alike: dict[tuple[str, str], bool] = {}
    for pages in moments:
        for other, name in combinations(sorted(name for name, readings in pages.items() if readings), 2):
            known = {identity(page) for page in pages[name]}
            if None not in known and known == {identity(page) for page in pages[other]}:
                surely.setdefault(name, other)
            same = len(pages[name]) == len(pages[other]) == 1 and look_alike(pages[name][0], pages[other][0])
            alike[name, other] = alike.get((name, other), True) and same
    maybe = {name: other for (name, other), same in reversed(alike.items()) if same and name not in surely}
    return surely, maybe
