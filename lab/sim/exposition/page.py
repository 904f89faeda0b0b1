"""One process's exposition: a layout with values in it, of which only the values are formatted at a scrape."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress

from lab.sim.exposition.shape import FamilyShape, Labels, Sample, Shape

INSTANCE = "@instance@"
"""Stands in a shape for what each process is called."""

_PROCESS = ("python_", "process_", "target_info")
_BIG = 1e6

Late = Callable[[FamilyShape, Labels], bool]
"""Whether a series is exported only from its first event on."""


def never(family: FamilyShape, labels: Labels) -> bool:
    return False


@dataclass(frozen=True, slots=True, eq=False)
class _Child:
    """The lines of one label set: their values' place, and whether they stay as they are for a process's life."""

    number: int
    family: int
    start: int
    samples: tuple[Sample, ...]
    late: bool
    fixed: bool
    template: str

    @property
    def stop(self) -> int:
        return self.start + len(self.samples)


class Layout:
    """What pages of one shape share: where each value goes. Made once for many processes."""

    def __init__(self, shape: Shape, *, late: Late = never) -> None:
        self.shape = shape
        self.children: list[_Child] = []
        self.first_values: list[float] = []
        self.created: list[int] = []
        self.starts: list[int] = []
        self._known: dict[str, list[tuple[_Child, int]]] = {}
        for number, family in enumerate(shape.families):
            for labels, samples in family.children():
                self._add(number, family, samples, is_late=late(family, labels))

    def _add(self, family_number: int, family: FamilyShape, samples: tuple[Sample, ...], *, is_late: bool) -> None:
        name = samples[0].name
        child = _Child(
            number=len(self.children),
            family=family_number,
            start=len(self.first_values),
            samples=samples,
            late=is_late,
            fixed=name.startswith(_PROCESS) or name.endswith("_created"),
            template="".join(f"{sample.text} \0\n" for sample in samples),
        )
        self.children.append(child)
        for offset, sample in enumerate(samples):
            index = child.start + offset
            if sample.name.endswith("_created"):
                self.created.append(index)
            elif sample.name == "process_start_time_seconds":
                self.starts.append(index)
            if family.type != "histogram":
                self._known.setdefault(sample.name, []).append((child, index))
            elif not offset:
                self._known.setdefault(family.name, []).append((child, index))
            self.first_values.append(_first_value(family, sample))

    def find(self, name: str, labels: dict[str, str]) -> tuple[_Child, int] | None:
        """A child by its name and some of its labels, and the index of the value."""
        wanted = set(labels.items())
        places = self._known.get(name, ())
        return next((place for place in places if wanted <= set(place[0].samples[0].labels)), None)


class Cell:
    """One number of a page."""

    __slots__ = ("_child", "_index", "_page")

    def __init__(self, page: Page, child: _Child | None, index: int) -> None:
        self._page, self._child, self._index = page, child, index

    @property
    def value(self) -> float:
        return float(self._page.values[self._index])

    def add(self, count: float) -> None:
        """Count; the first time brings a late series to light, also with 0."""
        self._page.values[self._index] += count
        if self._child is not None and not self._page.born[self._child.number]:
            self._page.bear(self._child)

    def set(self, value: float) -> None:
        self._page.values[self._index] = value
        if self._child is not None and not self._page.born[self._child.number]:
            self._page.bear(self._child)


class Observations:
    """One histogram of a page: cumulative counts by bound, count and sum."""

    __slots__ = ("_bounds", "_child", "_count", "_first", "_page", "_sum")

    def __init__(self, page: Page, child: _Child | None) -> None:
        samples = child.samples if child is not None else ()
        names = [sample.name.rpartition("_")[2] for sample in samples]
        self._page, self._child = page, child
        self._bounds = [float(dict(sample.labels)["le"]) for sample in samples if "le" in dict(sample.labels)]
        self._first = child.start if child is not None else 0
        self._count = self._first + names.index("count") if names else 0
        self._sum = self._first + names.index("sum") if names else 0

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, or the same one several times."""
        values = self._page.values
        if self._child is None or not times:
            return
        for index in range(self._first + bisect_left(self._bounds, value), self._first + len(self._bounds)):
            values[index] += times
        values[self._count] += times
        values[self._sum] += value * times
        if not self._page.born[self._child.number]:
            self._page.bear(self._child)


class Page:
    """The exposition of one process. Counters and histograms begin at 0, gauges as recorded."""

    def __init__(self, layout: Layout, instance: str = "") -> None:
        self._layout = layout
        self._instance = instance
        self.values: list[float] = [*layout.first_values, 0.0]
        self.born = [not child.late for child in layout.children]
        self._template: str | None = None
        self._shown: list[bool] = []

    def cell(self, name: str, **labels: str) -> Cell:
        """A number by its sample's name and all or some of its labels; one that leads nowhere where it is absent."""
        place = self._layout.find(name, labels)
        return Cell(self, *place) if place else Cell(self, None, len(self._layout.first_values))

    def histogram(self, name: str, **labels: str) -> Observations:
        """Likewise for a histogram, by its family's name."""
        place = self._layout.find(name, labels)
        return Observations(self, place[0] if place else None)

    def has(self, name: str) -> bool:
        return self._layout.find(name, {}) is not None

    def bear(self, child: _Child) -> None:
        """A late series has its first event."""
        self.born[child.number] = True
        self._template = None

    def restart(self, started_at: float) -> None:
        """A new process: counters at 0, late series hidden again."""
        layout = self._layout
        self.values[:-1] = layout.first_values
        for index in layout.starts:
            self.values[index] = int(started_at) if isinstance(self.values[index], int) else round(started_at, 2)
        for index in layout.created:
            self.values[index] = round(started_at + 1.5, 6)
        self.born = [not child.late for child in layout.children]
        self._template = None

    def render(self) -> str:
        """The text as it stands; what never changes in a process's life is part of the template."""
        template = self._template or self._compile()
        return template % tuple(
            [value if value < _BIG else _text(value) for value in compress(self.values, self._shown)]
        )

    def _compile(self) -> str:
        """Join the lines that are visible now; headers of families without any series stay, as in the record."""
        parts: list[str] = []
        self._shown = []
        of_family: dict[int, list[_Child]] = {}
        for child in self._layout.children:
            of_family.setdefault(child.family, []).append(child)
        for number, family in enumerate(self._layout.shape.families):
            own = of_family.get(number, [])
            if not own or any(self.born[child.number] for child in own):
                parts.append(_escaped(family.header))
            for child in own:
                is_born = self.born[child.number]
                self._shown += [is_born and not child.fixed] * len(child.samples)
                if is_born:
                    parts.append(self._lines(child))
        self._template = "".join(parts).replace(INSTANCE, self._instance)
        return self._template

    def _lines(self, child: _Child) -> str:
        template = _escaped(child.template).replace("\0", "%s")
        if not child.fixed:
            return template
        return _escaped(template % tuple(map(_text, self.values[child.start : child.stop])))


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _first_value(family: FamilyShape, sample: Sample) -> float:
    text = sample.recorded
    whole = text.lstrip("-").isdigit()
    is_count = family.type in ("counter", "histogram", "summary") and not family.name.startswith(_PROCESS)
    number = 0.0 if is_count else float(text)
    return int(number) if whole else number


def _text(value: float) -> str:
    """A number as real processes write it: whole ones of Curvine as they are, floats with Go's exponents."""
    text = repr(value)
    dot = text.find(".")
    if isinstance(value, int) or dot <= 6 or "e" in text:
        return text
    mantissa = f"{text[0]}.{text[1:dot]}{text[dot + 1 :]}".rstrip("0.")
    return f"{mantissa}e+{dot - 1:02d}"
