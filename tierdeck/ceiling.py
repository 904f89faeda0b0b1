"""The highest hit ratio that whole blocks and chunks allow, and whether the tiered design pays here.

A hit ends at a block's end, and vLLM computes at least a prompt's last token: of a prompt of n tokens
with blocks of B, floor((n − 1) / B) · B can hit. Only a histogram of lengths is exported, so the sum
over requests has bounds. Thresholds of the design: docs/ledger.md, "Is the design worth it".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tierdeck.figure import Figure, Ratio
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger
from tierdeck.split import TierSplit

LONG_TOKENS = 1000.0
"""Prompts from about here on are quicker to load from L2 than to compute."""
LEAST_SHARED = 0.4
"""Share of leading tokens that prompts must have in common for the design to pay."""
_HALF = 0.5


def reachable(lengths: Histogram, block_tokens: float) -> tuple[float, float]:
    """Tokens of these prompts that whole blocks could have served: at least and at most.

    A prompt in the bucket (low, high] gives floor(low / B) · B to floor((high − 1) / B) · B; all N
    prompts with S tokens together S − N · B to S − N.
    """
    low = high = 0.0
    for (below, above), count in zip(pairwise((0.0, *lengths.bounds, math.inf)), lengths.counts, strict=True):
        if count:
            low += count * _whole(below, block_tokens)
            high += math.inf if above == math.inf else count * _whole(max(0.0, math.floor(above) - 1), block_tokens)
    total, prompts = lengths.sum, lengths.count
    low = max(low, total - prompts * block_tokens)
    high = max(0.0, min(high, total - prompts))
    return min(low, high), high


def _whole(tokens: float, block_tokens: float) -> float:
    return tokens // block_tokens * block_tokens


def long_prompts(lengths: Histogram) -> float:
    """Prompts surely above LONG_TOKENS: those in buckets that begin there or later."""
    lows = (0.0, *lengths.bounds)
    return sum(count for low, count in zip(lows, lengths.counts, strict=True) if low >= LONG_TOKENS)


@dataclass(frozen=True, slots=True)
class Range:
    """A share that is known to lie in [low, high]."""

    low: Ratio
    high: Ratio

    @classmethod
    def unknown(cls, reason: str) -> Range:
        return cls(Ratio.unknown(reason), Ratio.unknown(reason))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest share of prompt tokens that could have been hits, however warm the caches.

    `hit_ratio` and `l0` are of the prompts that finished in the window, `lower` of those looked up.
    """

    hit_ratio: Range
    l0: Range
    lower: Range

    @classmethod
    def unknown(cls, reason: str) -> Ceiling:
        return cls(Range.unknown(reason), Range.unknown(reason), Range.unknown(reason))


def ceiling(ledger: TokenLedger, *, has_cache: bool) -> Ceiling:
    """Of one replica, or of several as one.

    Args:
        has_cache: LMCache serves these prompts too, be it of their own or shared.
    """
    prompts, tokens = ledger.measured_prompts, ledger.measured_tokens
    if not prompts or not tokens:
        l0 = Range.unknown(
            "no prompt finished in the window" if prompts == 0 else "the lengths of prompts are not exported"
        )
    elif ledger.reachable_low is None or ledger.reachable_high is None:
        l0 = Range.unknown("prefix caching is off, or the engine's block size is not exported")
    else:
        l0 = Range(_share(ledger.reachable_low, tokens), _share(ledger.reachable_high, tokens))
    hit_ratio = l0
    if has_cache and prompts and tokens and l0.low.known:
        # chunks may end behind the last whole block; the last token is computed all the same
        hit_ratio = Range(l0.low, _share(tokens - prompts, tokens))
    return Ceiling(hit_ratio, l0, _of_chunks(ledger))


def _of_chunks(ledger: TokenLedger) -> Range:
    """LMCache's lookups count whole chunks: all that it could ever find."""
    chunks, prompt = ledger.lookup_tokens, ledger.prompt_tokens
    if not ledger.has_cache:
        return Range.unknown("no LMCache source of the replica itself tells its lookups")
    if not ledger.cache_covers or chunks is None:
        return Range.unknown("LMCache was not scraped at an edge of the window")
    if not prompt or chunks > prompt:
        return Range.unknown("LMCache's lookups and vLLM's can't be compared in this window")
    return Range(_share(max(0.0, chunks - (ledger.requests or 0.0)), prompt), _share(chunks, prompt))


def _share(part: float, whole: float) -> Ratio:
    return Ratio.of(Figure(part), Figure(whole))


class Verdict(StrEnum):
    """Whether the tiered design pays for this traffic."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Worth:
    """What tells whether L1 and L2 pay: how much prompts share, and how long they are.

    `shared_prefix`: at least what was hit or found, at most what could hit. `long_prompts`: the share
    of prompts that are surely long.
    """

    shared_prefix: Range
    long_prompts: Ratio

    @property
    def verdict(self) -> Verdict:
        low, high = self.shared_prefix.low.value, self.shared_prefix.high.value
        is_long = None if self.long_prompts.value is None else self.long_prompts.value >= _HALF
        if is_long is False or (high is not None and high <= LEAST_SHARED):
            return Verdict.NO
        return Verdict.YES if is_long and low is not None and low > LEAST_SHARED else Verdict.CANNOT_TELL


def worth(ledger: TokenLedger, tiers: TierSplit, highest: Ceiling) -> Worth:
    """From the figures of the same window."""
    hits = tiers.l0 + tiers.lower
    if tiers.found_not_loaded.known:
        hits = hits + tiers.found_not_loaded
    low = Ratio.of(hits, tiers.prompt_tokens) if tiers.by_token.known else tiers.by_token
    high = highest.hit_ratio.high
    if low.value is not None and high.value is not None and high.value < low.value:
        high = low  # the prompts that finished are not quite those that were looked up
    if ledger.measured_prompts is None or ledger.long_prompts is None:
        long = Ratio.unknown("the lengths of prompts are not exported")
    elif not ledger.measured_prompts:
        long = Ratio.unknown("no prompt finished in the window")
    else:
        long = _share(ledger.long_prompts, ledger.measured_prompts)
    return Worth(Range(low, high), long)
