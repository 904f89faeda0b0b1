"""What the series of a page come to: which of its numbers, or which sums of them, are which readings.

It depends on the series alone, so that pages with the same series share it, and a scrape only fills it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collectors.source import Alias, Cumulative, Key, TargetReading
from tierdeck.readings import Reading

Cell = int
"""Where a number stands: the page's own first, in its order, then the sums of several."""


class Cells:
    """The numbers of a page, and sums of them."""

    def __init__(self, size: int) -> None:
        """`size`: how many numbers the page itself has."""
        self._size = size
        self._sums: list[tuple[Cell, ...]] = []

    def of(self, numbers: Sequence[Cell]) -> Cell:
        """Where the sum of some of the page's numbers stands."""
        if len(numbers) == 1:
            return numbers[0]
        self._sums.append(tuple(numbers))
        return self._size + len(self._sums) - 1

    def each(self, keys: Mapping[Key, Sequence[Cell]]) -> list[tuple[Key, Cell]]:
        """The same for several keys."""
        return [(key, self.of(numbers)) for key, numbers in keys.items()]

    def filled(self, numbers: list[float]) -> list[float]:
        """What stands in all cells."""
        return numbers + [sum([numbers[at] for at in some]) for some in self._sums] if self._sums else numbers


@dataclass(frozen=True, slots=True)
class Buckets:
    """A histogram: finite bounds, where the cumulative counts stand (the last is +Inf's), and the sum, if any."""

    key: Key
    bounds: tuple[float, ...]
    counts: tuple[Cell, ...]
    sum: Cell | None


@dataclass(frozen=True, slots=True)
class AliasCells:
    """A counter under one of the names by which a page has it."""

    reading: Reading
    spelled: str
    counters: list[tuple[Key, Cell]]


@dataclass(slots=True)
class Layout:
    """The parts of `TargetReading`, with cells in place of values."""

    cells: Cells
    model: str = ""
    router_series: int = 0
    start: Cell | None = None
    counters: list[tuple[Key, Cell]] = field(default_factory=list)
    gauges: list[tuple[Key, Cell]] = field(default_factory=list)
    histograms: list[Buckets] = field(default_factory=list)
    infos: dict[Key, Mapping[str, str]] = field(default_factory=dict)
    spelled: dict[Reading, str] = field(default_factory=dict)
    renamed: frozenset[Reading] = frozenset()
    aliases: tuple[AliasCells, ...] = ()
    recognised: bool = False

    def reading(self, numbers: list[float]) -> TargetReading:
        """What a page with these numbers says."""
        values = self.cells.filled(numbers)
        return TargetReading(
            start_time=None if self.start is None else values[self.start],
            counters=_counted(self.counters, values),
            gauges={key: values[at] for key, at in self.gauges},
            histograms={
                one.key: Cumulative(
                    one.bounds, tuple([values[at] for at in one.counts]), 0.0 if one.sum is None else values[one.sum]
                )
                for one in self.histograms
            },
            infos=dict(self.infos),
            spelled=dict(self.spelled),
            renamed=self.renamed,
            aliases=tuple(Alias(one.reading, one.spelled, _counted(one.counters, values)) for one in self.aliases),
            model=self.model,
            recognised=self.recognised,
            router_series=self.router_series,
        )


def _counted(counters: Iterable[tuple[Key, Cell]], values: Sequence[float]) -> dict[Key, float]:
    """A counter below 0 is none."""
    return {key: value for key, at in counters if (value := values[at]) >= 0}
