"""Reads a body by a table of families: the one implementation behind every exposition source.

Pages repeat their series from scrape to scrape: what these come to is worked out once (`collectors.layout`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from collectors.exposition import Entry, Parser, Series
from collectors.layout import AliasCells, Buckets, Cells, Layout
from collectors.source import Family, Key, Kind, TargetReading
from tierdeck.readings import Reading

_LARGEST = 1e18
"""No token count, byte size or instant is larger; a value beyond it is garbage."""

START = Family(Reading.START_TIME, Kind.GAUGE, ("process_start_time_seconds",))


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a family's name; generation 0 is the newest name."""

    generation: int
    name: str


_SUFFIXES = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count"), Kind.SUM: ("_sum",)}


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
    return _SUFFIXES.get(family.kind, ("",))


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
    """Samples of one family under one spelling, by their numbers on the page."""

    values: dict[Key, list[int]] = field(default_factory=dict)
    buckets: dict[Key, dict[float, list[int]]] = field(default_factory=dict)
    infos: dict[Key, Mapping[str, str]] = field(default_factory=dict)


_Sightings = dict[tuple[int, int], _Found]
_Page = tuple[tuple[Entry[_Known], ...], tuple[int, ...]]
"""The series of a page, and which of its numbers are none."""
_MAX_LAID_OUT = 50_000
"""Series, those of all layouts together."""


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
        self._layouts: dict[_Page, Layout] = {}
        self._laid_out = 0

    @property
    def remembered(self) -> int:
        """How many series the layouts hold that are kept."""
        return self._laid_out

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        """None where the body holds no sample that the table names. As `Source.read`."""
        exposition = self._parser.parse(text) if values is None else self._parser.gather(values.items())
        if not exposition.samples:
            return None
        numbers = list(exposition.samples.values())
        # neither NaN nor infinite, nor so large that sums would be
        unfit = tuple([at for at, value in enumerate(numbers) if not -_LARGEST <= value <= _LARGEST])
        page = tuple(exposition.samples), unfit
        layout = self._layouts.get(page)
        if layout is None:
            layout = self._lay_out(*page)
            if exposition.lasts:
                self._keep(page, layout)
        reading = layout.reading(numbers)
        reading.unreadable, reading.duplicates = exposition.unreadable, exposition.duplicates
        return reading

    def _keep(self, page: _Page, layout: Layout) -> None:
        self._laid_out += len(page[0])
        if self._laid_out > _MAX_LAID_OUT:
            self._layouts.clear()
            self._laid_out = len(page[0])
        self._layouts[page] = layout

    def _lay_out(self, entries: Sequence[Entry[_Known]], unfit: Collection[int]) -> Layout:
        """What these series come to, those with unfit values left out."""
        found: _Sightings = {}
        model, router_series = "", 0
        for at, entry in enumerate(entries):
            known = entry.slot
            if known.is_copy:
                router_series += 1
            elif at not in unfit:
                for slot in known.slots:
                    into = found.setdefault(slot.at, _Found())
                    if slot.is_value:
                        into.values.setdefault(slot.key, []).append(at)
                    elif slot.bound is not None:
                        into.buckets.setdefault(slot.key, {}).setdefault(slot.bound, []).append(at)
                    elif self.families[slot.at[0]].kind is Kind.INFO:
                        into.infos[slot.key] = entry.series.labels
            model = model or known.model
        layout = Layout(Cells(len(entries)), model, router_series)
        for number, rank in self._chosen(found).items():
            self._take(layout, number, rank, found[number, rank])
        layout.aliases = self._aliases(found, layout.cells)
        return layout

    def _compile(self, series: Series) -> _Known | None:
        slots = []
        for number, rank in self._names.get(series.name, ()):
            family, labels = self.families[number], series.labels
            if any(labels.get(name) != value for name, value in family.where.items()):
                continue
            if family.unless and all(labels.get(name) == value for name, value in family.unless.items()):
                continue
            key = Key(family.reading, labels.get(self._engine_label, ""), labels.get(family.by, ""))
            if family.kind in (Kind.COUNTER, Kind.HISTOGRAM, Kind.SUM):
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

    def _aliases(self, found: _Sightings, cells: Cells) -> tuple[AliasCells, ...]:
        """Counters that have had several names, under each of these; nothing where one generation is all there is."""
        best: dict[tuple[int, int], int] = {}
        for number, rank in sorted(found):
            if number in self._renamed:
                best.setdefault((number, self._spellings[number][rank].generation), rank)
        if len({generation for _, generation in best}) < 2:  # two names, or more
            return ()
        return tuple(
            AliasCells(
                self.families[number].reading,
                self._spellings[number][rank].name,
                cells.each(found[number, rank].values),
            )
            for (number, _), rank in best.items()
        )

    def _take(self, layout: Layout, number: int, rank: int, found: _Found) -> None:
        family, spelling, cells = self.families[number], self._spellings[number][rank], layout.cells
        if family is START:
            layout.start = next((cells.of(some) for some in found.values.values()), None)
            return
        layout.recognised = True
        layout.spelled[family.reading] = spelling.name
        if spelling.generation:
            layout.renamed |= {family.reading}
        match family.kind:
            case Kind.COUNTER | Kind.SUM:
                layout.counters += cells.each(found.values)
            case Kind.GAUGE:
                layout.gauges += cells.each(found.values)
            case Kind.INFO:
                layout.infos.update(found.infos)
            case Kind.HISTOGRAM:
                for key, buckets in found.buckets.items():
                    if math.inf in buckets:
                        bounds = tuple(sorted(buckets))
                        counts = tuple(cells.of(buckets[bound]) for bound in bounds)
                        total = cells.of(found.values[key]) if key in found.values else None
                        layout.histograms.append(Buckets(key, bounds[:-1], counts, total))


def _bound(labels: Mapping[str, str]) -> float | None:
    try:
        bound = float(labels.get("le", ""))
    except ValueError:
        return None
    return None if math.isnan(bound) or bound == -math.inf else bound
