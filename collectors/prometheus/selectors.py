"""What is asked for: the families that the sources read, in a few selectors over all replicas.

A selector names series only, no replica: a round takes the same number of queries however large the fleet is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.families import START, sample_names
from collectors.source import Family, Kind
from collectors.sources import SOURCES
from collectors.sources.lmcache import EMBEDDED_FAMILIES
from collectors.sources.router import RE_EXPORTED
from collectors.sources.vllm import VLLM
from tierdeck.fleet import SourceKind

UP = "up"
"""Prometheus's own series: 1 where a scrape worked, 0 where it did not."""
STARTED = START.names[0]

_ENGINE_SIDE = (SourceKind.VLLM, SourceKind.ROUTER)


@dataclass(frozen=True, slots=True)
class Selector:
    """Series by their names.

    Attributes:
        by_job: only of jobs in which something of ours was found: every exporter has these names.
    """

    names: tuple[str, ...]
    by_job: bool = False

    def text(self, match: str = "") -> str:
        """PromQL; `match` are further matchers, such as `namespace="inference"`."""
        matchers = ([f'__name__=~"{"|".join(self.names)}"'] if len(self.names) > 1 else []) + ([match] if match else [])
        return f"{self.names[0] if len(self.names) == 1 else ''}{{{','.join(matchers)}}}"

    def halves(self) -> tuple[Selector, Selector] | None:
        """Two that select the same together; None where there is nothing to split."""
        middle = len(self.names) // 2
        if not middle:
            return None
        return Selector(self.names[:middle], self.by_job), Selector(self.names[middle:], self.by_job)


def _families() -> Iterator[tuple[SourceKind, Family]]:
    for source in SOURCES:
        for family in source.families:
            yield source.kind, family
        if source.kind is SourceKind.ROUTER:
            yield from ((source.kind, family) for family in RE_EXPORTED)


def _kinds() -> dict[str, SourceKind]:
    kinds: dict[str, SourceKind] = {}
    for kind, family in _families():
        for name in sample_names(family):
            kinds.setdefault(name, kind)
    return kinds


def _selectors() -> tuple[tuple[Selector, ...], tuple[Selector, ...]]:
    engine: dict[str, None] = {}
    rest: dict[str, None] = {}
    histograms: dict[tuple[str, ...], None] = {}
    for kind, family in _families():
        names = sample_names(family)
        if family.kind is Kind.HISTOGRAM:
            histograms[names] = None
        else:
            (engine if kind in _ENGINE_SIDE else rest).update(dict.fromkeys(names))
    return (Selector(tuple(engine)), Selector(tuple(rest))), tuple(Selector(names) for names in histograms)


KINDS: dict[str, SourceKind] = _kinds()
"""The kind of target that a series' name speaks for; Curvine's plain names are shared by its kinds."""

PLAIN, HISTOGRAMS = _selectors()
OURS = (*PLAIN, *HISTOGRAMS)
UPS = Selector((UP,), by_job=True)
STARTS = Selector((STARTED,), by_job=True)

COUNTERS = frozenset(
    name
    for _, family in (*_families(), *((SourceKind.LMCACHE, family) for family in EMBEDDED_FAMILIES))
    if family.kind in (Kind.COUNTER, Kind.HISTOGRAM, Kind.SUM)
    for name in sample_names(family)
)
"""Series that only grow within a process."""

LOOKUPS = Selector(sample_names(VLLM.families[0]))
"""The counter by which an engine is recognised, in all its spellings."""
OLD_LOOKUPS = "vllm:gpu_prefix_cache_queries"
"""Its HELP says whether it counts blocks."""
