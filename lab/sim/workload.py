"""What a workload is: seeded requests over time. Same seed, same requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Protocol

from tierdeck.sizing.prompt import Prompt

_POSITION_BITS = 20

Pace = Callable[[float], float]
"""Requests a second wanted at a simulated moment."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request at a simulated moment.

    Attributes:
        answer_blocks: the blocks that its answer completes.
        salt: the tenant's cache salt; prompts of different salts share nothing.
        is_chat: it comes by /v1/chat/completions.
        prefilled: a prefill replica has its KV, and the one that gets it now takes it over.
    """

    at: float
    prompt: Prompt
    answer_tokens: int
    answer_blocks: tuple[int, ...] = ()
    salt: str = ""
    is_chat: bool = True
    prefilled: bool = False


class Workload(Protocol):
    """One kind of traffic."""

    @property
    def name(self) -> str: ...

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        """Requests in order of time, from `start` on, without end."""
        ...


class Text:
    """A token stream whose blocks have ids: what was said before position 0 of it is `after`."""

    def __init__(self, block_tokens: int, *names: object, after: Text | None = None) -> None:
        """
        Args:
            names: what the text is; equal names are equal texts.
            after: the text that precedes it, as long as it was made.
        """
        digest = hashlib.blake2b("\x1f".join(map(str, names)).encode(), digest_size=8).digest()
        self._base = (int.from_bytes(digest) >> (_POSITION_BITS + 1)) << _POSITION_BITS
        self._block_tokens = block_tokens
        self._before: tuple[int, ...] = after.blocks(after.tokens) if after is not None else ()
        self.tokens: int = after.tokens if after is not None else 0

    def add(self, tokens: int) -> Text:
        """Make it longer."""
        self.tokens += tokens
        return self

    def blocks(self, tokens: int, start: int = 0) -> tuple[int, ...]:
        """Ids of the whole blocks up to so many tokens, what precedes included, from block `start` on."""
        before, end = self._before, tokens // self._block_tokens
        own = range(max(len(before), start), end)
        return before[start:end] + tuple(self._base | position for position in own)


def ask(at: float, text: Text, answer_tokens: int, block_tokens: int, session: str = "") -> Request:
    """A request whose prompt is all of the text so far."""
    whole = text.blocks(text.tokens + answer_tokens)
    prompt_blocks = text.tokens // block_tokens
    prompt = Prompt(text.tokens, whole[:prompt_blocks], session)
    return Request(at, prompt, answer_tokens, whole[prompt_blocks:])


def arrivals(random: Random, pace: Pace, start: float) -> Iterator[float]:
    """Moments of a Poisson process whose rate follows the pace."""
    at = start
    while True:
        at += random.expovariate(max(1e-6, pace(at)))
        yield at


def lengths(random: Random, median: float, spread: float, least: int, most: int) -> int:
    """A log-normal length in tokens: as prompts and answers are, most short and a few long."""
    return max(least, min(most, round(median * random.lognormvariate(0.0, spread))))
