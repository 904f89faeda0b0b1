"""Exposition text taken apart far enough to move its counters on; everything else stays as written."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

_COUNTING = {
    "counter": ("", "_total"),
    "histogram": ("_bucket", "_count", "_sum"),
    "summary": ("_count", "_sum"),
}
"""Sample name endings that only rise, by the family's type. `_created` is an instant, whatever the type says."""
_ENDINGS = ("_total", "_created", "_bucket", "_count", "_sum")


@dataclass(frozen=True, slots=True)
class Line:
    """One sample line. `count` is the exact value of a counter, None for everything that may also fall.

    A line that can't be read is kept whole in `series`, with an empty `value`.
    """

    series: str
    value: str
    count: Decimal | None = None

    @property
    def text(self) -> str:
        return f"{self.series} {self.value}" if self.value else self.series


@dataclass(slots=True)
class Family:
    """HELP and TYPE lines, and the samples below them in their order."""

    type: str = ""
    headers: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def is_exposition(text: str) -> bool:
    """Whether a body has typed families at all; an error page or an empty answer has none."""
    return any(line.startswith("# TYPE ") for line in text.splitlines())


def parse(text: str) -> dict[str, Family]:
    """Families by name, in the order of the text; comments other than HELP and TYPE are left out."""
    families: dict[str, Family] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            words = line.split(maxsplit=3)
            if len(words) >= 3 and words[1] in ("HELP", "TYPE"):
                family = families.setdefault(words[2], Family())
                family.headers.append(line)
                if words[1] == "TYPE":
                    family.type = words[3].strip() if len(words) == 4 else ""
        elif line.strip():
            series, value = split_sample(line)
            name = _family_name(series.partition("{")[0], families)
            family = families.setdefault(name, Family())
            family.lines.append(Line(series, value, _count(series, value, name, family.type)))
    return families


def split_sample(line: str) -> tuple[str, str]:
    """`name{labels} value [timestamp]` -> (`name{labels}`, `value`): a replayed sample is of now.

    A line of any other shape comes back whole, with an empty value.
    """
    labels_end = line.rfind("}") + 1
    name, _, tail = line.partition(" ") if not labels_end else (line[:labels_end], "", line[labels_end:])
    words = tail.split()
    if not name or len(words) not in (1, 2):
        return line, ""
    return name, words[0]


def _family_name(sample: str, families: dict[str, Family]) -> str:
    """The family of a sample: its own name, else without an ending where such a family was announced."""
    if sample in families:
        return sample
    for ending in _ENDINGS:
        name = sample.removesuffix(ending)
        if name != sample and name in families:
            return name
    return sample


def _count(series: str, value: str, family: str, kind: str) -> Decimal | None:
    ending = series.partition("{")[0].removeprefix(family)
    if ending not in _COUNTING.get(kind, ()):
        return None
    try:
        count = Decimal(value)
    except InvalidOperation:
        return None
    return count if count.is_finite() else None
