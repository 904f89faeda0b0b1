"""The contract of a metric source: a table of families, read from one body into canonical readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

_SEPARATOR = "\x1f"


class Kind(StrEnum):
    """How a family's samples are read. SUM is a histogram's sum alone; INFO carries its facts in its labels."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUM = "sum"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Family:
    """One reading and where it comes from.

    Attributes:
        names: upstream names, newest first. `vllm:` also stands for `vllm_`, and a counter's name
            for the same with `_total`, so that neither is written down here.
        where: labels that a series must carry.
        unless: labels of which a series must not carry all.
        by: a label whose values are kept apart.
        zero_when_absent: 0 until it first appears in a process (OpenTelemetry exports a counter
            from its first increment on).
        like: another reading whose generation of names this one must share, so that a share is never
            made of two generations.
        largest: series of several workers count the same tokens: take the largest, not the sum.
        gone: older names that are no longer exported, with the first release that was looked at and
            lacks them.
    """

    reading: Reading
    kind: Kind
    names: tuple[str, ...]
    where: Mapping[str, str] = field(default_factory=dict)
    unless: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    zero_when_absent: bool = False
    like: Reading | None = None
    largest: bool = False
    gone: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which of a target's series a number belongs to.

    Attributes:
        engine: value of the label that tells engines apart.
        part: value of `Family.by`.
        series: the values of all other labels; counters and histograms are told apart by it, so that
            a series that is missing once is a gap and not a fall of the others' sum.
    """

    reading: Reading
    engine: str = ""
    part: str = ""
    series: str = ""
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    _text: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        text = _SEPARATOR.join((self.reading, self.engine, self.part, self.series))
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_hash", hash(text))

    def __hash__(self) -> int:
        """Computed once: a key is looked up many times a scrape."""
        return self._hash

    def text(self) -> str:
        """As a key of JSON."""
        return self._text

    @classmethod
    def parsed(cls, text: str) -> Key:
        """What `text` wrote."""
        reading, engine, part, series = text.split(_SEPARATOR)
        return cls(Reading(reading), engine, part, series)


@dataclass(frozen=True, slots=True)
class Cumulative:
    """A histogram as exposed: finite bounds, cumulative counts (the last is +Inf's), sum."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float


@dataclass(frozen=True, slots=True)
class Alias:
    """A counter under one of the names by which a page has it."""

    reading: Reading
    spelled: str
    counters: Mapping[Key, float]


@dataclass(slots=True)
class TargetReading:
    """What one body says.

    Attributes:
        start_time: of the process, epoch seconds; None where not exported.
        spelled: the upstream name behind each reading.
        renamed: readings that were found under a name older than the newest known.
        aliases: counters under every name they have, those in `counters` too, where a page has one of them
            under several generations of names; else empty.
        labels: label values of interest, such as `model_name`.
        flags: facts that a source derives, such as `always_exports_external`.
        recognised: the body holds series of this source.
        router_series: a router's copies of engine series, left out.
        plain_names: kept by `collectors.aliases`, once it worked them out.
    """

    start_time: float | None = None
    counters: dict[Key, float] = field(default_factory=dict)
    gauges: dict[Key, float] = field(default_factory=dict)
    histograms: dict[Key, Cumulative] = field(default_factory=dict)
    infos: dict[Key, Mapping[str, str]] = field(default_factory=dict)
    spelled: dict[Reading, str] = field(default_factory=dict)
    renamed: frozenset[Reading] = frozenset()
    aliases: tuple[Alias, ...] = ()
    model: str = ""
    flags: frozenset[str] = frozenset()
    recognised: bool = False
    router_series: int = 0
    unreadable: int = 0
    duplicates: int = 0
    plain_names: dict[str, str] | None = field(default=None, init=False, repr=False, compare=False)

    def counter(self, reading: Reading) -> float:
        """Sum of a counter over its series; 0 where none is exported."""
        return sum(value for key, value in self.counters.items() if key.reading is reading)

    def gauge(self, reading: Reading) -> float | None:
        """Sum of a gauge over engines and parts; None where not exported."""
        values = [value for key, value in self.gauges.items() if key.reading is reading]
        return sum(values) if values else None


class Source(Protocol):
    """One kind of target. A new one: a file in `collectors/sources/` and a line in `SOURCES`."""

    @property
    def kind(self) -> SourceKind: ...

    @property
    def path(self) -> str:
        """Where its exposition is, when the configuration gives only host and port."""
        ...

    @property
    def families(self) -> tuple[Family, ...]: ...

    @property
    def ends_with_newline(self) -> bool:
        """A whole body ends with a line end (the text format says so); one that does not was cut."""
        ...

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        """Readings of one body; None where it holds nothing that this source knows. Never raises.

        Args:
            values: by series, where those of the text stand without them.
        """
        ...
