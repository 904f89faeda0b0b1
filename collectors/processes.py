"""One engine process that is seen over several paths, so that it counts once.

A vLLM process is known by its start time and the instants at which its counters were created; both are
on its page unless PROMETHEUS_MULTIPROC_DIR is set. That two pages carry the same ones is not enough: their
counters must agree too, as far as two scrapes a moment apart can. Without creation times, two pages with the
same start time and the same counters, some of them above 0, are one process if they belong to one replica.
Where a later scrape shows that they are not, each counts from where they parted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from collectors.source import TargetReading
from tierdeck.notes import Note, NoteCode
from tierdeck.readings import Reading

Identity = tuple[float, tuple[tuple[str, float], ...]]
_APART = 0.25
"""Two scrapes of one process a moment apart: by how much of its value a counter may differ."""
_SKEW = 0.1
"""Likewise over a window: by how much of its increase."""


def identity(reading: TargetReading) -> Identity | None:
    """Start time, and creation times by engine; None where one of them is not exported."""
    created = sorted((key.engine, value) for key, value in reading.gauges.items() if key.reading is Reading.CREATED)
    return (reading.start_time, tuple(created)) if reading.start_time is not None and created else None


def are_one(a: TargetReading, b: TargetReading) -> bool:
    """Both pages are one process's, as far as one scrape of each can tell."""
    if a.start_time is None or a.start_time != b.start_time:
        return False
    if identity(a) is not None or identity(b) is not None:
        return identity(a) == identity(b) and may_be_one(a, b)
    return look_alike(a, b)


def may_be_one(a: TargetReading, b: TargetReading) -> bool:
    """Nothing on the two pages says that they are of different processes."""
    close = all(abs(one - other) <= 1 + _APART * max(one, other) for one, other in _pairs(a, b))
    return a.start_time == b.start_time and identity(a) == identity(b) and close


def _pairs(a: TargetReading, b: TargetReading) -> Iterator[tuple[float, float]]:
    for key in a.counters.keys() | b.counters.keys():
        yield a.counters.get(key, 0.0), b.counters.get(key, 0.0)


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
            if other is not None and not may_be_one(other, reading):
                del self._first[name]
            return
        for one in before:
            other = readings.get(one)
            if one not in self._first and other is not None and are_one(other, reading):
                self._first[name] = one
                return


def same_processes(moments: Iterable[Mapping[str, Sequence[TargetReading]]]) -> tuple[dict[str, str], dict[str, str]]:
    """Replicas whose engine is another replica's: surely, and by the look of it; at every moment that has both.

    Args:
        moments: recognised pages of vLLM by replica, for each moment.

    Returns:
        twice the earlier replica by the later one, in order of names.
    """
    seen: dict[tuple[str, str], list[tuple[Sequence[TargetReading], Sequence[TargetReading]]]] = {}
    for pages in moments:
        for other, name in combinations(sorted(name for name, readings in pages.items() if readings), 2):
            seen.setdefault((other, name), []).append((pages[other], pages[name]))
    surely: dict[str, str] = {}
    maybe: dict[str, str] = {}
    for (other, name), both in seen.items():
        if other in surely:
            continue
        if _are_one_throughout(both):
            surely.setdefault(name, other)
        elif all(len(a) == len(b) == 1 and look_alike(a[0], b[0]) for a, b in both):
            maybe.setdefault(name, other)
    return surely, {name: other for name, other in maybe.items() if name not in surely}


def _are_one_throughout(both: Sequence[tuple[Sequence[TargetReading], Sequence[TargetReading]]]) -> bool:
    """The same identities at every moment, and counters that differ by less than a scrape's delay explains."""
    pages = [(_by_identity(a), _by_identity(b)) for a, b in both]
    if any(not a or a.keys() != b.keys() for a, b in pages):
        return False
    first, last = pages[0][0], pages[-1][0]
    for a, b in pages:
        for known, page in a.items():
            before = first[known].counters if known in first else {}
            after = last[known].counters if known in last else {}
            for key in page.counters.keys() | b[known].counters.keys():
                apart = abs(page.counters.get(key, 0.0) - b[known].counters.get(key, 0.0))
                if apart > _SKEW * max(0.0, after.get(key, 0.0) - before.get(key, 0.0)):
                    return False
    return True


def _by_identity(pages: Sequence[TargetReading]) -> dict[Identity, TargetReading]:
    """A replica's processes, each once; empty where one can't be told."""
    found: dict[Identity, TargetReading] = {}
    for page in pages:
        known = identity(page)
        if known is None:
            return {}
        found.setdefault(known, page)
    return found


def same_process_note(name: str, first: str) -> Note:
    """That a target is another one's process."""
    return Note(NoteCode.SAME_PROCESS, f"{name} and {first} are one process, counted once", name)
