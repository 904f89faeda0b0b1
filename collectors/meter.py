"""Turns two consecutive readings of one target into increases: resets, gaps and late series handled.

A process counts from 0. What was counted before the first scrape of a process that was already running
when watching began is the baseline, and nobody's increase.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import sub
from typing import Any

from collectors.aliases import Names
from collectors.source import Cumulative, Key, TargetReading
from tierdeck.histogram import Histogram
from tierdeck.readings import Reading


@dataclass(slots=True)
class Increase:
    """What one scrape added. `counts` holds a reading only if it was observed.

    Attributes:
        parts: counts of families that keep a label apart, by (reading, label value).
        alike: of readings that several workers count alike, what each counted, by (reading, worker).
        missing: readings of which a series that this process had is missing; its next appearance counts the
            time between.
        restarted: another process answered than before.
        reset: counters fell though the process is the same.
        first: the first scrape that this meter ever saw; it gives increases only if the process is new.
        rebased: a counter goes by another name than before in the same process, or nothing but its version tells
            that the process is another: what is counted may differ, so that this scrape is a baseline.
        versions: before and now, where another version than before answered.
        covers_start: nothing was missed before this scrape: the process was new, or already being read.
    """

    counts: dict[Reading, float] = field(default_factory=dict)
    parts: dict[tuple[Reading, str], float] = field(default_factory=dict)
    alike: dict[tuple[Reading, str], float] = field(default_factory=dict)
    histograms: dict[Reading, Histogram] = field(default_factory=dict)
    missing: frozenset[Reading] = frozenset()
    restarted: bool = False
    reset: bool = False
    first: bool = False
    rebased: bool = False
    versions: tuple[str, str] | None = None
    covers_start: bool = True


class Meter:
    """The memory of one target between scrapes: JSON-able, so that the next start goes on from it."""

    def __init__(
        self, zeros: Iterable[Reading] = (), largest: Iterable[Reading] = (), memory: Mapping[str, object] | None = None
    ) -> None:
        """
        Args:
            zeros: readings that are 0 until they first appear in a process.
            largest: readings that several workers count alike: the largest increase is taken.
        """
        self._zeros = frozenset(zeros)
        self._largest = frozenset(largest)
        kept: Any = memory or {}  # as `memory` wrote it, perhaps through JSON
        self._start: float | None = kept.get("start")
        self._met = bool(kept.get("met"))
        self._names = Names(kept)
        self._version: str = kept.get("version", "")
        self._is_untold: bool = bool(kept.get("is_untold"))
        self._counters: dict[Key, float] = {Key.parsed(text): value for text, value in kept.get("counters", {}).items()}
        self._histograms: dict[Key, Cumulative] = {
            Key.parsed(text): Cumulative(tuple(bounds), tuple(counts), total)
            for text, (bounds, counts, total) in kept.get("histograms", {}).items()
        }

    def memory(self) -> dict[str, object]:
        """What must be kept for the next start."""
        return {
            "start": self._start,
            "met": self._met,
            **self._names.memory(),
            "version": self._version,
            "is_untold": self._is_untold,
            "counters": {key.text(): value for key, value in self._counters.items()},
            "histograms": {key.text(): [seen.bounds, seen.counts, seen.sum] for key, seen in self._histograms.items()},
        }

    @property
    def met(self) -> bool:
        """At least one scrape was fed."""
        return self._met

    @property
    def version(self) -> str:
        """What the present process told; empty when unknown."""
        return "" if self._is_untold else self._version

    def continues(self, reading: TargetReading) -> bool:
        """The page is of the process of the scrape before: by its start time, else as far as its counters tell."""
        if not self._met or self._start != reading.start_time:
            return False
        if self._start is not None:
            return True
        fallen = any(_fell(self._counters.get(key, 0.0), value) for key, value in reading.counters.items())
        return not (fallen or self.misses(reading) or self._names.changed(reading))

    def changes(self, version: str) -> bool:
        """It is another than what was told last."""
        return bool(version and self._version and version != self._version)

    def knows(self, reading: Reading) -> bool:
        """The reading has been seen in the present process."""
        return any(key.reading is reading for key in self._counters)

    def misses(self, reading: TargetReading) -> frozenset[Reading]:
        """Readings that this process had, of which a series is missing now; empty after a restart."""
        if self._is_another(reading) or self._is_whole(reading):
            return frozenset()
        return frozenset({key.reading for key in self._counters if key not in reading.counters})

    def lacks(self, reading: TargetReading) -> frozenset[tuple[Reading, str]]:
        """(reading, engine) that this process had and the page lacks, though it tells other counts of the engine."""
        if self._is_another(reading) or self._is_whole(reading):
            return frozenset()
        told = {(key.reading, key.engine) for key in reading.counters}
        engines = {engine for _, engine in told}
        had = {(key.reading, key.engine) for key in self._counters if key.engine in engines}
        return frozenset(had - told)

    def continued(self, reading: TargetReading) -> TargetReading:
        """The page under the names by which this process was read so far, where a newer name has no baseline yet."""
        return reading if self._is_another(reading) else self._names.continued(reading, self._counters)

    def feed(self, reading: TargetReading, watched_since: float | None = None, version: str = "") -> Increase:
        """Account one successful scrape.

        Args:
            watched_since: epoch seconds from when on this target is watched: a process that started
                later is counted from 0 at its first scrape.
            version: what the process told of itself; empty when unknown.
        """
        restarted = self._is_another(reading)
        if restarted:
            self._forget()
        self._counters = self._names.switched(reading, self._counters)
        increase = Increase(first=not self._met, missing=self.misses(reading), restarted=restarted)
        from_zero = self._met
        if not self._met:
            new = watched_since is not None and reading.start_time is not None and reading.start_time > watched_since
            from_zero = increase.covers_start = new
        renamed = self._names.changed(reading)
        self._take_falls(reading, increase, renamed)
        is_another = self._takes_version(version, increase)
        if is_another or (renamed and not (increase.restarted or increase.reset)):
            increase.rebased, increase.covers_start, from_zero = True, False, False
            self._counters, self._histograms = {}, {}
        known = {key.reading for key in self._counters} if self._zeros else set()
        self._count(reading, increase, from_zero=from_zero)
        self._observe(reading, increase, from_zero=from_zero)
        if from_zero:
            for zero in self._zeros - known - {key.reading for key in reading.counters}:
                increase.counts[zero] = 0.0
        self._start = reading.start_time if reading.start_time is not None else self._start
        self._met = True
        self._names.take(reading)
        return increase

    def _takes_version(self, version: str, increase: Increase) -> bool:
        """True where nothing but the version tells that this is another process.

        One that told its version late, a restart having been seen, is known to be another already.
        """
        changed = self.changes(version)
        is_another = changed and not (increase.restarted or self._is_untold)
        if changed:
            increase.versions = (self._version, version)
        if is_another:
            increase.restarted, increase.reset, increase.missing = True, False, frozenset()
        elif changed and increase.restarted:  # seen by the fall of some engines: none of them goes on
            self._counters, self._histograms = {}, {}
        if version:
            self._version = version
        self._is_untold = not version and (self._is_untold or increase.restarted)
        return is_another

    def _is_whole(self, reading: TargetReading) -> bool:
        """Every series of the scrape before is there; mostly in the same order, which is quickly seen."""
        return [*self._counters] == [*reading.counters] or self._counters.keys() <= reading.counters.keys()

    def _is_another(self, reading: TargetReading) -> bool:
        """Another process, by its start time."""
        return self._met and None not in (self._start, reading.start_time) and self._start != reading.start_time

    def _forget(self) -> None:
        self._counters, self._histograms = {}, {}
        self._names.forget()

    def _take_falls(self, reading: TargetReading, increase: Increase, renamed: Collection[str]) -> None:
        """A counter that fell takes all of its engine back to 0; under another name it may be lower in one process."""
        apart = renamed if reading.start_time is not None else ()
        fallen = {
            key.engine
            for key, value in reading.counters.items()
            if _fell(self._counters.get(key, 0.0), value) and key.reading not in apart
        }
        fallen |= {
            key.engine
            for key, seen in reading.histograms.items()
            if key in self._histograms and seen.counts[-1] < self._histograms[key].counts[-1]
        }
        if not fallen:
            return
        self._counters = {key: value for key, value in self._counters.items() if key.engine not in fallen}
        self._histograms = {key: seen for key, seen in self._histograms.items() if key.engine not in fallen}
        if reading.start_time is None and self._start is None:
            increase.restarted = True
        else:
            increase.reset = True

    def _count(self, reading: TargetReading, increase: Increase, *, from_zero: bool) -> None:
        largest: dict[tuple[Reading, str], dict[str, float]] = {}
        for key, value in reading.counters.items():
            before = self._counters.get(key)
            self._counters[key] = value
            if before is None and not from_zero:
                continue
            delta = value - (before or 0.0)
            if key.reading in self._largest:
                by_engine = largest.setdefault((key.reading, key.part), {})
                by_engine[key.engine] = by_engine.get(key.engine, 0.0) + delta
                worker = (key.reading, key.engine)
                increase.alike[worker] = increase.alike.get(worker, 0.0) + delta
                continue
            increase.counts[key.reading] = increase.counts.get(key.reading, 0.0) + delta
            if key.part:
                part = (key.reading, key.part)
                increase.parts[part] = increase.parts.get(part, 0.0) + delta
        for (name, _), engines in largest.items():
            increase.counts[name] = increase.counts.get(name, 0.0) + max(engines.values())

    def _observe(self, reading: TargetReading, increase: Increase, *, from_zero: bool) -> None:
        for key, seen in reading.histograms.items():
            before = self._histograms.get(key)
            self._histograms[key] = seen
            if before is None and not from_zero:
                continue
            if before is None:
                delta = Histogram.from_cumulative(seen.bounds, seen.counts, seen.sum)
            else:
                delta = _difference(before, seen)
            known = increase.histograms.get(key.reading)
            increase.histograms[key.reading] = delta if known is None else known + delta


_ROUNDING = 1e-12


def _fell(before: float, after: float) -> bool:
    """Not by rounding: seconds of several processes are added up anew at each scrape, in any order."""
    return after < before * (1 - _ROUNDING)


def _difference(before: Cumulative, after: Cumulative) -> Histogram:
    """What was observed between two scrapes of one process, on the bounds that both have."""
    total = max(0.0, after.sum - before.sum)
    if before.bounds == after.bounds:
        return Histogram.from_cumulative(after.bounds, tuple(map(sub, after.counts, before.counts)), total)
    earlier = dict(zip((*before.bounds, None), before.counts, strict=True))
    shared = tuple(bound for bound in after.bounds if bound in earlier)
    later = dict(zip((*after.bounds, None), after.counts, strict=True))
    counts = tuple(later[bound] - earlier[bound] for bound in (*shared, None))
    return replace(Histogram.from_cumulative(shared, counts, total), layouts_differ=True)
