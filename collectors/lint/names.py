"""What is known of a metric's name: kind, part in a hit ratio, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectors.families import spellings
from collectors.lint.upstream import UPSTREAM, Upstream
from collectors.source import Family, Kind
from collectors.sources import BY_KIND, SOURCES
from collectors.sources.router import RE_EXPORTED
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

_COMMON_NAMES = (SourceKind.CURVINE_MASTER, SourceKind.CURVINE_MASTER_API, SourceKind.CURVINE_WORKER)
"""Their names, such as `capacity`, may be anybody's."""

LMCACHE_FOUND = (Reading.FOUND_TOKENS, Reading.L1_FOUND, Reading.L2_FOUND)
_HITS = (
    Reading.L0_HITS,
    Reading.EXTERNAL_HITS,
    Reading.HOST_HITS,
    Reading.DISK_HITS,
    Reading.P2P_HITS,
    *LMCACHE_FOUND,
)
_LOOKUPS = (Reading.PROMPT_TOKENS, Reading.EXTERNAL_QUERIES, Reading.LOOKUP_TOKENS, Reading.PROCESSED_TOKENS)
_FRACTIONS = (Reading.KV_USAGE, Reading.L1_USAGE)
_PARTS = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Known:
    """A metric's name as a query spells it.

    Attributes:
        base: the name newest upstream, without `_total` or a histogram's part: equal for all spellings.
        reading: what Tierdeck makes of it, if anything.
        role: `hits`, `lookups`, `rate`, `retrieve_rate` or empty.
        gone: the release from which it is no longer exported; empty while it is.
        now: the name to use, in the spelling of the query; empty where nothing took its place.
        bare: a counter without the `_total` under which it is exported.
        part: `_bucket`, `_sum` or `_count` of a histogram.
        counters: hits and lookups that say what this one was meant to say.
        fraction: a gauge between 0 and 1.
    """

    base: str
    kind: Kind
    reading: Reading | None = None
    role: str = ""
    gone: str = ""
    now: str = ""
    bare: bool = False
    part: str = ""
    counters: tuple[str, str] | None = None
    fraction: bool = False

    @property
    def cumulative(self) -> bool:
        """It only grows, until a restart."""
        return self.kind is Kind.COUNTER or bool(self.part)


def known(name: str) -> Known | None:
    """What is known of a name; None for names that are not ours to judge."""
    return _NAMES.get(name)


def recorded(name: str) -> bool:
    """Whether a name looks like that of a recording rule, whose value may be a rate already."""
    return ":" in name and not name.startswith(("vllm:", "lmcache:"))


def re_exported(found: Known | None) -> bool:
    """Whether production-stack's router exports gauges under this engine's name."""
    return found is not None and (found.base in _COPIED or found.base == "vllm:gpu_prefix_cache_hit_rate")


def _of_family(family: Family, *, curvine: bool) -> dict[str, Known]:
    role = "hits" if family.reading in _HITS else "lookups" if family.reading in _LOOKUPS else ""
    found: dict[str, Known] = {}
    for spelling in spellings(family):
        written = family.names[spelling.generation]
        underscored = ":" in written and ":" not in spelling.name
        newest = family.names[0].replace(":", "_") if underscored else family.names[0]
        total = "_total" if family.kind is Kind.COUNTER and not curvine else ""
        entry = Known(
            family.names[0],
            Kind.HISTOGRAM if family.kind is Kind.SUM else family.kind,
            family.reading,
            role,
            family.gone.get(written, ""),
            newest + total,
            bare=bool(total) and not spelling.name.endswith("_total"),
            fraction=family.reading in _FRACTIONS,
        )
        found |= _with_parts(spelling.name, entry)
    return found


def _of_upstream(entry: Upstream) -> dict[str, Known]:
    # a family's spellings by a reading that does not matter here
    family = Family(Reading.REQUESTS, entry.kind, (entry.name,))
    base = entry.instead or entry.name
    found: dict[str, Known] = {}
    for spelling in spellings(family):
        underscored = ":" in entry.name and ":" not in spelling.name
        total = "_total" if entry.kind is Kind.COUNTER else ""
        now = (base.replace(":", "_") if underscored else base) + total
        found |= _with_parts(
            spelling.name,
            Known(
                base,
                entry.kind,
                None,
                entry.role,
                entry.gone,
                now if entry.instead or not entry.gone else "",
                bare=bool(total) and not spelling.name.endswith("_total"),
                counters=entry.counters,
                fraction=entry.role in ("rate", "retrieve_rate"),
            ),
        )
    return found


def _with_parts(name: str, entry: Known) -> dict[str, Known]:
    if entry.kind is not Kind.HISTOGRAM:
        return {name: entry}
    parts = {name + part: replace(entry, part=part, now=entry.now + part if entry.now else "") for part in _PARTS}
    return {name: entry} | parts


def _all() -> dict[str, Known]:
    names: dict[str, Known] = {}
    for written in UPSTREAM:
        names |= _of_upstream(written)
    for source in SOURCES:
        if source.kind not in _COMMON_NAMES:
            for family in source.families:
                for name, entry in _of_family(family, curvine=source.kind is SourceKind.CURVINE_FUSE).items():
                    names.setdefault(name, entry)
    return names


_NAMES = _all()
_OF_ENGINE = {family.reading: family.names[0] for family in BY_KIND[SourceKind.VLLM].families}
_COPIED = {_OF_ENGINE[family.reading] for family in RE_EXPORTED}
