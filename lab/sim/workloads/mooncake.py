"""A recorded trace in Mooncake's format, played at the wanted pace, over and over.

Its own times give the gaps between requests only in proportion. Format: one JSON object a line with
`timestamp` (ms), `input_length`, `output_length` and `hash_ids`, one id per 512 tokens, equal ids for equal
prefixes. Source: Mooncake's published traces.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.sim.workload import Pace, Request
from tierdeck.errors import UsageError
from tierdeck.sizing.prompt import Prompt

TRACE_BLOCK_TOKENS = 512
FORMAT = "A line holds timestamp (ms), input_length, output_length and hash_ids, one id per 512 tokens."
_LATEST_MS = 1e13
_LARGEST = 2**43
"""Ids of blocks are made of these, and stay below what stands for a tenant."""


@dataclass(frozen=True, slots=True)
class Line:
    """One request of a trace."""

    at: float
    tokens: int
    answer_tokens: int
    hash_ids: tuple[int, ...]


def read_trace(path: Path) -> tuple[Line, ...]:
    """All lines of a trace, `.gz` or plain, in order of time.

    Raises:
        UsageError: the file can't be read, or a line is none of the format; it is named by its number.
    """
    lines = []
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    lines.append(_read_line(f"{path}:{number}", text))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UsageError(f"{path} can't be read: {error}", FORMAT) from error
    if not lines:
        raise UsageError(f"{path} holds no request", FORMAT)
    return tuple(sorted(lines, key=lambda line: line.at))


def _read_line(where: str, text: str) -> Line:
    try:
        entry = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}: no JSON: {error.msg}", FORMAT) from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, brackets in brackets
        raise UsageError(f"{where}: no JSON that can be used", FORMAT) from error
    if problem := _problem(entry):
        raise UsageError(f"{where}: {problem}", FORMAT)
    ids = tuple(entry["hash_ids"])
    return Line(entry["timestamp"] / 1000, entry["input_length"], entry["output_length"], ids)


def _problem(entry: object) -> str:
    """What keeps a line's JSON from being a request; empty where nothing does."""
    if not isinstance(entry, dict):
        return "it is no JSON object"
    at: Any = entry.get("timestamp")
    ids: Any = entry.get("hash_ids")
    tokens: Any = entry.get("input_length")
    is_list = isinstance(ids, list)
    is_number = isinstance(at, int | float) and not isinstance(at, bool)
    checks = {
        "timestamp must be a number of milliseconds": is_number and 0 <= at < _LATEST_MS,
        "input_length must be a whole number above 0": _is_whole(tokens, 1),
        "output_length must be a whole number": _is_whole(entry.get("output_length"), 0),
        "hash_ids must be a list of whole numbers": is_list and all(_is_whole(block, 0) for block in ids),
    }
    failed = next((problem for problem, ok in checks.items() if not ok), "")
    if not failed and len(ids) * TRACE_BLOCK_TOKENS < tokens:
        return f"{len(ids)} hash_ids are too few for {tokens} tokens"
    return failed


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < _LARGEST


@dataclass(frozen=True, slots=True)
class Mooncake:
    """A trace whose gaps are stretched so that its mean pace is the wanted one."""

    trace: tuple[Line, ...]
    most_tokens: int = 24_000
    name: str = "trace"

    @property
    def mean_tokens(self) -> float:
        """Of its prompts."""
        return sum(min(line.tokens, self.most_tokens) for line in self.trace) / len(self.trace)

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        """The seed chooses where in the trace to begin; blocks are the trace's, cut to `block_tokens`.

        Raises:
            UsageError: they can't be cut so.
        """
        if TRACE_BLOCK_TOKENS % block_tokens:
            raise UsageError(f"A trace's blocks of {TRACE_BLOCK_TOKENS} tokens can't be cut into {block_tokens}")
        return self._over_and_over(seed, pace, start, block_tokens)

    def _over_and_over(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        span = self.trace[-1].at - self.trace[0].at
        mean_gap = span / len(self.trace) if span else 1.0
        position, at = seed * 7919 % len(self.trace), start
        while True:
            line = self.trace[position]
            yield self._request(at, line, block_tokens)
            position = (position + 1) % len(self.trace)
            gap = max(0.0, self.trace[position].at - line.at) if span else mean_gap
            at += gap / mean_gap / max(1e-6, pace(at))

    def _request(self, at: float, line: Line, block_tokens: int) -> Request:
        tokens = min(line.tokens, self.most_tokens)
        cut = TRACE_BLOCK_TOKENS // block_tokens
        blocks = tuple(
            line.hash_ids[position // cut] << 20 | position % cut for position in range(tokens // block_tokens)
        )
        return Request(at, Prompt(tokens, blocks), min(line.answer_tokens, 1000))
