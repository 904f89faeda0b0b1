"""Notes, histograms and JSON as the store keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import orjson

from tierdeck.notes import Note, NoteCode

dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""A value as compact JSON."""
load = json.loads


def dump_memory(memory: Mapping[str, object]) -> str:
    """An accountant's memory as compact JSON; there are many, and all their numbers are finite."""
    return orjson.dumps(dict(memory)).decode()


def dump_notes(notes: Iterable[Note]) -> str | None:
    """A sorted list of [code, detail, evidence]; None without notes."""
    rows = [[note.code.value, note.detail, note.evidence] for note in sorted(notes)]
    return dump(rows) if rows else None


@lru_cache(maxsize=4096)
def load_notes(text: str) -> frozenset[Note]:
    """Cached, since the same reservation stands in row after row."""
    return frozenset(Note(NoteCode(code), detail, evidence) for code, detail, evidence in load(text))


def dump_numbers(numbers: Iterable[float]) -> str:
    """A list of numbers; whole ones without their `.0`, since buckets count."""
    return dump([int(number) if number.is_integer() else number for number in map(float, numbers)])


def load_numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, load(text)))


def dump_counts(counts: Sequence[float]) -> str:
    """A bucket list as [index of the first that is not 0, its count, … up to the last that is not 0].

    Requests of one scrape fall into few buckets, and a window adds up rows by the ten thousand.
    """
    used = [index for index, count in enumerate(counts) if count]
    return dump_numbers([used[0], *counts[used[0] : used[-1] + 1]]) if used else "[0]"


def add_up(lists: str, buckets: int) -> tuple[float, ...]:
    """The sum of such lists that SQL has joined with commas, for a layout of that many buckets."""
    totals = [0.0] * buckets
    for first, *counts in load(f"[{lists}]"):
        for index, count in enumerate(counts, first):
            totals[index] += count
    return tuple(totals)
