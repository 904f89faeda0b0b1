"""A parser of the Prometheus text format that looks only at the families it was asked for.

Series texts repeat from scrape to scrape: each is understood once (`compile`), and from then on one
dictionary look-up and one `float` read a line. Format: Prometheus text exposition 0.0.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Slot = TypeVar("Slot")

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|(?=}))')
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_ESCAPE = re.compile(r"\\(.)")
_MAX_LINE = 64 * 1024
_MAX_REMEMBERED = 4 * 1024
_MAX_KNOWN = 50_000


@dataclass(frozen=True, slots=True)
class Series:
    """A metric's name and its labels."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[Slot]):
    """One series as its reader understands it; the same object for every spelling of the same series."""

    series: Series
    slot: Slot


@dataclass(slots=True)
class Exposition(Generic[Slot]):
    """The wanted samples of one body.

    `unreadable` counts wanted lines that are not samples, `duplicates` repeated series: of those the
    first sample counts, as in Prometheus. `lasts`: all entries are remembered.
    """

    samples: dict[Entry[Slot], float] = field(default_factory=dict)
    unreadable: int = 0
    duplicates: int = 0
    lasts: bool = True


class Parser(Generic[Slot]):
    """Reads bodies of one kind of target; share it among targets, since they share series texts."""

    def __init__(self, wanted: frozenset[str], compile_series: Callable[[Series], Slot | None]) -> None:
        """
        Args:
            wanted: sample names, such as `x_total` or `y_bucket`.
            compile_series: what a series is to the reader; None to leave it out.
        """
        self._wanted = wanted
        self._compile = compile_series
        self._known: dict[str, Entry[Slot] | None] = {}
        self._entries: dict[tuple[str, frozenset[tuple[str, str]]], Entry[Slot] | None] = {}

    def parse(self, text: str) -> Exposition[Slot]:
        """Never raises on content: what can't be read is counted and left out."""
        return self.gather(self._lines(text))

    def gather(self, lines: Iterable[tuple[str, str]]) -> Exposition[Slot]:
        """The same of lines that are in two parts already: a series, and the value that it has."""
        exposition: Exposition[Slot] = Exposition()
        samples, known = exposition.samples, self._known
        for key, number in lines:
            try:
                entry = known[key]
                value = float(number)
            except ValueError:
                exposition.unreadable += 1
                continue
            except KeyError:
                found = self._read(key, number)
                if found is None:
                    exposition.unreadable += 1
                    continue
                entry, value = found
                exposition.lasts = exposition.lasts and len(key) + len(number) < _MAX_REMEMBERED
            if entry is None:
                continue
            if entry in samples:
                exposition.duplicates += 1
            else:
                samples[entry] = value
        return exposition

    def _lines(self, text: str) -> Iterator[tuple[str, str]]:
        """The wanted lines of a body, up to the last space and after it."""
        wanted = self._wanted
        for line in text.split("\n"):
            brace = line.find("{")
            name = line[:brace].strip() if brace > 0 else line.split(None, 1)[0] if line.strip() else ""
            if name in wanted:
                key, _, number = line.rpartition(" ")
                yield key, number

    def _read(self, key: str, number: str) -> tuple[Entry[Slot] | None, float] | None:
        """The slow path: understand a line; remember its series text where nothing but a value follows."""
        line = f"{key} {number}"
        if len(line) > _MAX_LINE:
            return None
        sample = parse_line(line)
        if sample is None:
            return None
        series, value, rest = sample
        identity = (series.name, frozenset(series.labels.items()))
        if len(line) > _MAX_REMEMBERED:
            slot = self._compile(series)
            return None if slot is None else Entry(series, slot), value
        if identity not in self._entries:
            if len(self._known) >= _MAX_KNOWN or len(self._entries) >= _MAX_KNOWN:
                self._known.clear()
                self._entries.clear()
            slot = self._compile(series)
            self._entries[identity] = None if slot is None else Entry(series, slot)
        entry = self._entries[identity]
        if rest == number and len(key) <= _MAX_REMEMBERED:
            self._known[key] = entry
        return entry, value


def parse_line(line: str) -> tuple[Series, float, str] | None:
    """Series, value and the text after the series of one sample line; None where it is none."""
    line = line.strip()
    name = _NAME.match(line)
    if name is None:
        return None
    rest, labels = line[name.end() :].lstrip(), {}
    if rest.startswith("{"):
        position = 1
        while not rest.startswith("}", _skip_blank(rest, position)):
            label = _LABEL.match(rest, position)
            if label is None:
                return None
            labels[label[1]] = _unescape(label[2])
            position = label.end()
        rest = rest[_skip_blank(rest, position) + 1 :].lstrip()
    fields = rest.split()
    if not fields or (len(fields) > 2 and fields[1] != "#" and fields[2] != "#"):
        return None
    try:
        return Series(name[0], labels), float(fields[0]), rest
    except ValueError:
        return None


def _skip_blank(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t":
        position += 1
    return position


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: {"n": "\n", "\\": "\\", '"': '"'}.get(match[1], match[0]), text)
