"""A recorded trace in Mooncake's format, played at the wanted pace, over and over.

Format: one JSON object a line with `timestamp` (ms), `input_length`, `output_length` and `hash_ids`,
one id per 512 tokens, equal ids for equal prefixes. Source: Mooncake's published traces.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.sim.workload import Pace, Request
from tierdeck.errors import UsageError
from tierdeck.sizing.prompt import Prompt

TRACE_BLOCK_TOKENS = 512


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
        UsageError: the file can't be read, or a line is none of the format; it is named.
    """
    lines = []
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    lines.append(_read_line(path, number, text))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    if not lines:
        raise UsageError(f"{path} holds no request")
    return tuple(sorted(lines, key=lambda line: line.at))


def _read_line(path: Path, number: int, text: str) -> Line:
    try:
        entry = json.loads(text)
        line = Line(
            float(entry["timestamp"]) / 1000,
            int(entry["input_length"]),
            int(entry["output_length"]),
            tuple(int(block) for block in entry["hash_ids"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}:{number}: no line of a Mooncake trace: {error!r}") from error
    if line.tokens < 1 or line.answer_tokens < 0 or len(line.hash_ids) * TRACE_BLOCK_TOKENS < line.tokens:
        raise UsageError(f"{path}:{number}: input_length and hash_ids don't fit each other")
    return line


@dataclass(frozen=True, slots=True)
class Mooncake:
    """A trace whose gaps are stretched so that its mean pace is the wanted one."""

    trace: tuple[Line, ...]
    most_tokens: int = 24_000
    name: str = "mooncake"

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        """The seed chooses where in the trace to begin; blocks are the trace's, cut to `block_tokens`."""
        mean_gap = max(1e-3, (self.trace[-1].at - self.trace[0].at) / len(self.trace))
        position, at = seed * 7919 % len(self.trace), start
        while True:
            line = self.trace[position]
            yield self._request(at, line, block_tokens)
            position = (position + 1) % len(self.trace)
            gap = max(0.0, self.trace[position].at - line.at)
            at += gap / mean_gap / max(1e-6, pace(at))

    def _request(self, at: float, line: Line, block_tokens: int) -> Request:
        tokens = min(line.tokens, self.most_tokens)
        cut = TRACE_BLOCK_TOKENS // block_tokens
        blocks = tuple(
            line.hash_ids[position // cut] << 20 | position % cut for position in range(tokens // block_tokens)
        )
        return Request(at, Prompt(tokens, blocks), min(line.answer_tokens, 1000))
