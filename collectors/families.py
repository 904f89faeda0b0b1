"""Reads a body by a table of families: the one implementation behind every exposition source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from collectors.exposition import Parser, Series
from collectors.source import Alias, Cumulative, Family, Key, Kind, TargetReading
from tierdeck.readings import Reading

_LARGEST = 1e18
"""No token count, byte size or instant is larger; a value beyond it is garbage."""

START = Family(Reading.START_TIME, Kind.GAUGE, ("process_start_time_seconds",))


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a family's name; generation 0 is the newest name."""

    generation: int
    name: str


def spellings(family: Family) -> tuple[Spelling, ...]:
    """All ways to write a family's name, best first: newest name, `vllm:` before `vllm_`, with `_total` first."""
    found: list[Spelling] = []
    for generation, name in enumerate(family.names):
        for written in dict.fromkeys((name, name.replace(":", "_"))):
            suffixes = ("_total", "") if family.kind is Kind.COUNTER else ("",)
            found += [Spelling(generation, written + suffix) for suffix in suffixes]
    return tuple(found)


def sample_names(family: Family) -> tuple[str, ...]:
    """The names of its samples in all spellings; a histogram's with their suffixes."""
    return tuple(
        dict.fromkeys(spelling.name + suffix for spelling in spellings(family) for suffix in _suffixes(family))
    )


def _suffixes(family: Family) -> tuple[str, ...]:
    return ("_bucket", "_sum", "_count") if family.kind is Kind.HISTOGRAM else ("",)


@dataclass(frozen=True, slots=True)
class _Slot:
    """What a series is to one family: `at` says which and under which spelling, `key` for whom.

    Attributes:
        bound: of a bucket.
        is_value: its sample counts as it is; that of a bucket, an info or a `_count` does not.
    """

    at: tuple[int, int]
    key: Key
    bound: float | None = None
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """A series as it is understood: its slots, or that it is a router's copy of an engine's."""

    slots: tuple[_Slot, ...]
    model: str = ""
    is_copy: bool = False


@dataclass(slots=True)
class _Found:
    """Samples of one family under one spelling."""

    values: dict[Key, float] = field(default_factory=dict)
    buckets: dict[Key, dict[float, float]] = field(default_factory=dict)
    infos: dict[Key, Mapping[str, str]] = field(default_factory=dict)


_Sightings = dict[tuple[int, int], _Found]


class FamilyReader:
    """Reads bodies by a table of families. Share it among targets of a kind: it remembers series texts."""

    def __init__(self, families: tuple[Family, ...], engine_label: str = "", router_label: str = "") -> None:
        """
        Args:
            engine_label: the label that tells engines of one target apart, e.g. `engine`.
            router_label: series that carry it are a router's copies of engine series: counted, not read.
        """
        self.families = (START, *families)
        self._engine_label = engine_label
        self._router_label = router_label
        self._spellings = tuple(spellings(family) for family in self.families)
        self._renamed = {number for number, family in enumerate(self.families)
                         if family.kind is Kind.COUNTER and len(family.names) > 1}  # fmt: skip
        self._names: dict[str, list[tuple[int, int]]] = {}
        for number, family in enumerate(self.families):
            for rank, spelling in enumerate(self._spellings[number]):
                for suffix in _suffixes(family):
                    self._names.setdefault(spelling.name + suffix, []).append((number, rank))
        self._parser: Parser[_Known] = Parser(frozenset(self._names), self._compile)

    def read(self, text: str) -> TargetReading | None:
        """None where the body holds no sample that the table names."""
        exposition = self._parser.parse(text)
        if not exposition.samples:
            return None
        reading = TargetReading(unreadable=exposition.unreadable, duplicates=exposition.duplicates)
        found: _Sightings = {}
        for entry, value in exposition.samples.items():
            known = entry.slot
            if known.is_copy:
                reading.router_series += 1
            elif abs(value) <= _LARGEST:  # neither NaN nor infinite, nor so large that sums would be
                for slot in known.slots:
                    into = found.get(slot.at)
                    if into is None:
                        into = found[slot.at] = _Found()
                    if slot.is_value:
                        into.values[slot.key] = into.values.get(slot.key, 0.0) + value
                    elif slot.bound is not None:
                        buckets = into.buckets.setdefault(slot.key, {})
                        buckets[slot.bound] = buckets.get(slot.bound, 0.0) + value
                    elif self.families[slot.at[0]].kind is Kind.INFO:
                        into.infos[slot.key] = entry.series.labels
                reading.model = reading.model or known.model
        for number, rank in self._chosen(found).items():
            self._take(reading, number, rank, found[number, rank])
        reading.aliases = self._aliases(found)
        return reading

    def _compile(self, series: Series) -> _Known | None:
        slots = []
        for number, rank in self._names[series.name]:
            family, labels = self.families[number], series.labels
            if any(labels.get(name) != value for name, value in family.where.items()):
                continue
            if family.unless and all(labels.get(name) == value for name, value in family.unless.items()):
                continue
            key = Key(family.reading, labels.get(self._engine_label, ""), labels.get(family.by, ""))
            if family.kind in (Kind.COUNTER, Kind.HISTOGRAM):
                key = replace(key, series=self._other_labels(labels, family.by))
            bound = _bound(labels) if series.name.endswith("_bucket") else None
            is_value = family.kind in (Kind.COUNTER, Kind.GAUGE) or series.name.endswith("_sum")
            slots.append(_Slot((number, rank), key, bound, is_value and family.kind is not Kind.INFO))
        is_copy = bool(self._router_label) and self._router_label in series.labels
        return _Known(tuple(slots), series.labels.get("model_name", ""), is_copy) if slots else None

    def _other_labels(self, labels: Mapping[str, str], by: str) -> str:
        known = ("le", self._engine_label, by)
        kept = [name for name in sorted(labels) if name not in known and not name.startswith("otel_scope")]
        return ",".join(labels[name] for name in kept)

    def _chosen(self, found: _Sightings) -> dict[int, int]:
        """The best spelling of each family; readings that make a share stay in one generation of names."""
        chosen: dict[int, int] = {}
        for number, rank in sorted(found):
            chosen.setdefault(number, rank)
        generations = {
            self.families[number].reading: self._spellings[number][rank].generation for number, rank in chosen.items()
        }
        for number, family in enumerate(self.families):
            wanted = generations.get(family.like) if family.like is not None else None
            if number not in chosen or wanted is None:
                continue
            fitting = [r for n, r in sorted(found) if n == number and self._spellings[n][r].generation == wanted]
            if fitting:
                chosen[number] = fitting[0]
            else:
                del chosen[number]
        return chosen

    def _aliases(self, found: _Sightings) -> tuple[Alias, ...]:
        """Counters that have had several names, under each of these; nothing where one generation is all there is."""
        best: dict[tuple[int, int], int] = {}
        for number, rank in sorted(found):
            if number in self._renamed:
                best.setdefault((number, self._spellings[number][rank].generation), rank)
        if len({generation for _, generation in best}) < 2:  # two names, or more
            return ()
        return tuple(
            Alias(self.families[number].reading, self._spellings[number][rank].name, _counted(found[number, rank]))
            for (number, _), rank in best.items()
        )

    def _take(self, reading: TargetReading, number: int, rank: int, found: _Found) -> None:
        family, spelling = self.families[number], self._spellings[number][rank]
        if family is START:
            reading.start_time = next(iter(found.values.values()), None)
            return
        reading.recognised = True
        reading.spelled[family.reading] = spelling.name
        if spelling.generation:
            reading.renamed |= {family.reading}
        match family.kind:
            case Kind.COUNTER:
                reading.counters.update(_counted(found))
            case Kind.GAUGE:
                reading.gauges.update(found.values)
            case Kind.INFO:
                reading.infos.update(found.infos)
            case Kind.HISTOGRAM:
                for key, buckets in found.buckets.items():
                    if math.inf in buckets:
                        bounds = tuple(sorted(buckets))
                        counts = tuple(buckets[bound] for bound in bounds)
                        reading.histograms[key] = Cumulative(bounds[:-1], counts, found.values.get(key, 0.0))


def _counted(found: _Found) -> dict[Key, float]:
    """A counter below 0 is none."""
    return {key: value for key, value in found.values.items() if value >= 0}


def _bound(labels: Mapping[str, str]) -> float | None:
    try:
        bound = float(labels.get("le", ""))
    except ValueError:
        return None
    return None if math.isnan(bound) or bound == -math.inf else bound
