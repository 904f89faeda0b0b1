"""The five numbers above the fold, each with what stands behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from console.explanations import HIT_BY_REQUEST, HIT_BY_TOKEN, REQUESTS, TTFT, Explanation
from console.words import bounds_words, count_words, quantile_bounds, quantile_of, quantile_words, ratio_words
from tierdeck.figure import Ratio
from tierdeck.split import TierSplit
from tierdeck.summary import Summary
from tierdeck.units import format_count

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
        _headline(HIT_BY_TOKEN, by_token, tiers.by_token.reason, _hits(tiers)),
        _headline(HIT_BY_REQUEST, ratio_words(tiers.by_request), tiers.by_request.reason, "mean over requests"),
        replace(_headline(TTFT, quantile_words(p50), p50.reason, quantile_bounds(p50)), label="TTFT p50"),
        replace(_headline(TTFT, quantile_words(p95), p95.reason, quantile_bounds(p95)), label="TTFT p95"),
        _headline(REQUESTS, count_words(whole.requests), whole.requests.reason, _at_work(whole)),
    )


def _headline(explanation: Explanation, value: str, reason: str, below: str) -> Headline:
    return Headline(explanation.title, value, reason or below, reason, explanation.markdown())


def _hits(tiers: TierSplit) -> str:
    hits = tiers.l0 + tiers.lower
    return hits.reason if hits.value is None else f"{format_count(hits.value)} tokens from caches"


def _ratio_or_bounds(ratio: Ratio, bounds: tuple[float, float]) -> str:
    low, high = bounds
    if ratio.value is None and 0 < high - low <= _USEFUL:
        return bounds_words(low, high)
    return ratio_words(ratio)


def _at_work(whole: Summary) -> str:
    return f"{count_words(whole.running)} running, {count_words(whole.waiting)} waiting"
