"""One target's recorded bodies, played in a loop in which counters go on rising.

At lap k and moment i a counter stands at v[i] + k × (v[last] - v[first]): the step from a lap's end to the
next lap's start adds nothing, and every other step adds what was recorded. Gauges are as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from lab.exposition import Family, Line, is_exposition, parse

_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A counter's place in a body: where it stood, and what each lap adds."""

    series: str
    value: Decimal
    per_lap: Decimal

    def text(self, lap: int) -> str:
        return f"{self.series} {float(self.value + lap * self.per_lap)!r}"


_Chunk = str | _Slot


class Tape:
    """The bodies of one target, by lap and moment."""

    def __init__(self, bodies: Sequence[str | None]) -> None:
        """From one body per moment; None where the scrape failed.

        A body without typed families (an error page) is played as it is. A target whose counters fell
        between its first and its last body restarted in the recording: each of its laps begins anew.
        """
        self._bodies = [body.encode() if body is not None else None for body in bodies]
        parsed = [parse(body) if body is not None and is_exposition(body) else None for body in bodies]
        per_lap = _increases([families for families in parsed if families is not None])
        self._chunks = [_chunks(parsed, moment, per_lap) if per_lap else None for moment in range(len(parsed))]
        self._rendered: dict[int, tuple[int, bytes]] = {}

    def body(self, lap: int, moment: int) -> bytes | None:
        """What the target answers; None where the scrape failed."""
        chunks = self._chunks[moment]
        if lap == 0 or chunks is None:
            return self._bodies[moment]
        known = self._rendered.get(moment)
        if known is None or known[0] != lap:
            lines = (chunk if isinstance(chunk, str) else chunk.text(lap) for chunk in chunks)
            known = self._rendered[moment] = (lap, ("\n".join(lines) + "\n").encode())
        return known[1]


def _increases(recorded: Sequence[dict[str, Family]]) -> dict[str, Decimal]:
    """What a lap adds to each counter: its last value less the one of the first body, absent being 0.

    Empty where there is no counter, and where one fell.
    """
    if not recorded:
        return {}
    first = _counts(recorded[0])
    last: dict[str, Decimal] = {}
    for families in recorded:
        last.update(_counts(families))
    increases = {series: value - first.get(series, _ZERO) for series, value in last.items()}
    fell = any(value < 0 and not _is_sum(series) for series, value in increases.items())
    return {} if fell else increases


def _is_sum(series: str) -> bool:
    """A sum of observations, which may fall where observations are negative."""
    return series.partition("{")[0].endswith("_sum")


def _counts(families: dict[str, Family]) -> dict[str, Decimal]:
    return {line.series: line.count for family in families.values() for line in family.lines if line.count is not None}


def _chunks(
    parsed: Sequence[dict[str, Family] | None], moment: int, per_lap: dict[str, Decimal]
) -> list[_Chunk] | None:
    """A later lap's body as fixed text between the counters that moved; None: played as recorded."""
    here = parsed[moment]
    if here is None:
        return None
    seen = {series for families in parsed[: moment + 1] if families for series in _counts(families)}
    late = _late_counters([families for families in parsed[moment + 1 :] if families], seen)
    chunks: list[_Chunk] = []
    for line in _lines(here, late):
        added = per_lap.get(line.series, _ZERO)
        if line.count is not None and added:
            chunks.append(_Slot(line.series, line.count, added))
        elif chunks and isinstance(chunks[-1], str):
            chunks[-1] += f"\n{line.text}"
        else:
            chunks.append(line.text)
    return chunks


def _late_counters(later: Sequence[dict[str, Family]], seen: set[str]) -> dict[str, Family]:
    """Counters that were first seen after a moment, at 0, under their families' headers."""
    late: dict[str, Family] = {}
    known = set(seen)
    for families in later:
        for name, family in families.items():
            new = [line for line in family.lines if line.count is not None and line.series not in known]
            if new:
                known.update(line.series for line in new)
                born = late.setdefault(name, Family(family.type, family.headers))
                born.lines.extend(Line(line.series, "0.0", _ZERO) for line in new)
    return late


def _lines(here: dict[str, Family], late: dict[str, Family]) -> Iterator[Line]:
    """Headers and samples of a moment, each family followed by its late counters."""
    for name, family in here.items():
        yield from (Line(header, "") for header in family.headers)
        yield from family.lines
        if name in late:
            yield from late[name].lines
    for name, family in late.items():
        if name not in here:
            yield from (Line(header, "") for header in family.headers)
            yield from family.lines
