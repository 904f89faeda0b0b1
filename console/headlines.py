"""The five numbers above the fold, each with what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass

from console.words import bounds_words, count_words, quantile_bounds, quantile_of, quantile_words, ratio_words
from tierdeck.ceiling import Range
from tierdeck.computation import computation
from tierdeck.figure import Ratio
from tierdeck.split import TierSplit
from tierdeck.summary import Summary
from tierdeck.units import format_count, format_ratio

_USEFUL = 0.25
"""Bounds wider than this say nothing worth a headline."""


@dataclass(frozen=True, slots=True)
class Headline:
    """`below` says what the value rests on, `reason` why there is none, `help` how it is computed."""

    label: str
    value: str
    below: str
    reason: str
    help: str


def headlines(whole: Summary, hit_bounds: tuple[float, float]) -> tuple[Headline, ...]:
    """Of one endpoint or of the total.

    Args:
        hit_bounds: between which the hit ratio by token lies where it is not known itself.
    """
    tiers = whole.tiers
    p50, p95 = (quantile_of(whole.ttft, whole.ttft_reason, q) for q in (0.5, 0.95))
    by_token = _ratio_or_bounds(tiers.by_token, hit_bounds)
    return (
        _headline("hit_ratio.by_token", by_token, tiers.by_token.reason, _hits(tiers, whole.ceiling.hit_ratio)),
        _headline("hit_ratio.by_request", ratio_words(tiers.by_request), tiers.by_request.reason, "mean over requests"),
        _headline("ttft_seconds", quantile_words(p50), p50.reason, quantile_bounds(p50), "TTFT p50"),
        _headline("ttft_seconds", quantile_words(p95), p95.reason, quantile_bounds(p95), "TTFT p95"),
        _headline("requests", count_words(whole.requests), whole.requests.reason, _at_work(whole)),
    )


def _headline(key: str, value: str, reason: str, below: str, label: str = "") -> Headline:
    """
    Args:
        key: of the figure, in `tierdeck.computation`.
    """
    how = computation(key)
    return Headline(label or how.title, value, reason or below, reason, how.markdown())


def _hits(tiers: TierSplit, ceiling: Range) -> str:
    """Tokens from caches, and the highest share that whole blocks and chunks allow."""
    hits, low, high = tiers.l0 + tiers.lower, ceiling.low.value, ceiling.high.value
    if hits.value is None:
        return hits.reason
    highest = ""
    if low is not None and high is not None:
        highest = f" · ceiling {format_ratio(low).removesuffix(' %')}–{format_ratio(high)}"
    return f"{format_count(hits.value)} tokens{highest}"


def _ratio_or_bounds(ratio: Ratio, bounds: tuple[float, float]) -> str:
    low, high = bounds
    if ratio.value is None and 0 < high - low <= _USEFUL:
        return bounds_words(low, high)
    return ratio_words(ratio)


def _at_work(whole: Summary) -> str:
    return f"{count_words(whole.running)} running, {count_words(whole.waiting)} waiting"
