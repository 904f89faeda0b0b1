"""The shape of an exposition, taken from a recorded one: families in their order, every line but the values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lab.exposition import parse

_HERE = Path(__file__).parent / "captures"
_LIVE = Path(__file__).parents[2] / "captures" / "pressure"
_FILES = {
    "vllm": _LIVE / "A" / "180" / "vllm.txt",
    "lmcache-mp": _LIVE / "A" / "180" / "lmcache-mp.txt",
    "lmcache-coordinator": _LIVE / "_fleet" / "180" / "lmcache-coordinator.txt",
    "lmcache": _HERE / "lmcache-embedded.txt",
    "router": _HERE / "vllm-router.txt",
    "curvine-master": _HERE / "curvine-master.txt",
    "curvine-worker": _HERE / "curvine-worker.txt",
    "curvine-fuse": _HERE / "curvine-fuse.txt",
}
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line without its value; `recorded` is the value that it had."""

    name: str
    labels: Labels
    recorded: str

    @property
    def text(self) -> str:
        inner = ",".join(f'{name}="{value}"' for name, value in self.labels)
        return f"{self.name}{{{inner}}}" if inner else self.name


@dataclass(frozen=True, slots=True)
class FamilyShape:
    """HELP and TYPE as recorded, and the lines below them."""

    name: str
    type: str
    header: str
    samples: tuple[Sample, ...]

    def children(self) -> tuple[tuple[Labels, tuple[Sample, ...]], ...]:
        """Samples by label set, the bounds of buckets aside."""
        found: dict[Labels, list[Sample]] = {}
        for sample in self.samples:
            found.setdefault(tuple(label for label in sample.labels if label[0] != "le"), []).append(sample)
        return tuple((labels, tuple(samples)) for labels, samples in found.items())


Relabel = Mapping[str, str | None]
"""Values by label name; None takes the label away."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A whole exposition."""

    families: tuple[FamilyShape, ...]

    def without(self, wanted_gone: Iterable[str]) -> Shape:
        """Without families of these names, and their `_created`; counters are named with or without `_total`."""
        gone = {name.removesuffix("_total") for name in wanted_gone}
        stem = re.compile("_(?:total|created)$")
        return Shape(tuple(family for family in self.families if stem.sub("", family.name) not in gone))

    def relabelled(self, labels: Relabel) -> Shape:
        return Shape(
            tuple(
                replace(family, samples=tuple(_relabelled(sample, labels) for sample in family.samples))
                for family in self.families
            )
        )

    def plus(self, families: Iterable[FamilyShape]) -> Shape:
        """With further families; one of the same name takes the place of the recorded one."""
        extra = {family.name: family for family in families}
        kept = [extra.pop(family.name, family) for family in self.families]
        return Shape((*kept, *extra.values()))

    def repeated(self, label: str, values: Iterable[str]) -> Shape:
        """Series that carry the label once for each of the values."""
        wanted = tuple(values)
        return Shape(tuple(_repeated(family, label, wanted) for family in self.families))


@cache
def recorded(kind: str) -> Shape:
    """The recorded exposition of a kind of process."""
    families = parse(_FILES[kind].read_text("utf-8"))
    return Shape(
        tuple(
            FamilyShape(
                name,
                family.type,
                "".join(f"{line}\n" for line in family.headers),
                tuple(_sample(line.series, line.value) for line in family.lines),
            )
            for name, family in families.items()
        )
    )


def histogram(name: str, help_text: str, labels: Labels, bounds: Iterable[float]) -> FamilyShape:
    """A histogram that the record has no series of."""
    texts = [*(repr(float(bound)) for bound in bounds), "+Inf"]
    buckets = [Sample(f"{name}_bucket", (*labels, ("le", bound)), "0.0") for bound in texts]
    rest = [Sample(f"{name}_{end}", labels, "0.0") for end in ("count", "sum")]
    header = f"# HELP {name} {help_text}\n# TYPE {name} histogram\n"
    return FamilyShape(name, "histogram", header, (*buckets, *rest))


def gauges(name: str, help_text: str, series: Iterable[Labels]) -> FamilyShape:
    """A gauge that the record lacks."""
    header = f"# HELP {name} {help_text}\n# TYPE {name} gauge\n"
    return FamilyShape(name, "gauge", header, tuple(Sample(name, labels, "0.0") for labels in series))


def _sample(series: str, value: str) -> Sample:
    name, _, inner = series.partition("{")
    return Sample(name, tuple((label[1], label[2]) for label in _LABEL.finditer(inner)), value)


def _relabelled(sample: Sample, values: Relabel) -> Sample:
    labels = [(name, values.get(name, value)) for name, value in sample.labels]
    return replace(sample, labels=tuple((name, value) for name, value in labels if value is not None))


def _repeated(family: FamilyShape, label: str, values: tuple[str, ...]) -> FamilyShape:
    if not any(name == label for sample in family.samples for name, _ in sample.labels):
        return family
    by_series: dict[tuple[str, Labels], Sample] = {}
    for value in values:
        for sample in family.samples:
            copy = _relabelled(sample, {label: value})
            by_series.setdefault((copy.name, copy.labels), copy)
    return replace(family, samples=tuple(by_series.values()))
