"""Every prompt token in exactly one segment, named by what is known of where it came from.

What nobody can tell apart stays together: a fleet in which one endpoint does not tell L1 from L2
still shows the others' L1 and L2, and that endpoint's tokens as "L1 + L2".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from tierdeck.split import TierSplit
from tierdeck.summary import Summary
from tierdeck.tiers import Tier

_ROUNDING = 1e-9
"""Of the whole: less than that is not a rest, but what adding up left."""


class Source(StrEnum):
    """Segments from hot to cold, as they lie on the bar from left to right."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    LOWER = "L1+L2"
    MISS = "miss"
    TRANSFER = "transfer"
    UNKNOWN = "unknown"

    @property
    def label(self) -> str:
        """The name on screen."""
        own = {"L1+L2": "L1 + L2", "transfer": "transferred", "unknown": "not known"}
        return own[self] if self in own else Tier(self).label


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens of one source, their share of all in [0, 1], and its bounds where it is an estimate."""

    source: Source
    tokens: float
    share: float
    share_low: float
    share_high: float

    @property
    def estimated(self) -> bool:
        """The bounds differ in whole percent, as they are shown."""
        return round(100 * self.share_low) != round(100 * self.share_high)


def segments(summaries: Iterable[Summary]) -> list[Segment]:
    """Segments of several endpoints' windows, hottest first; [] without prompt tokens.

    A tier whose estimate is 0 is among them where its bounds reach a whole percent.
    """
    tokens, low, high = (dict.fromkeys(Source, 0.0) for _ in range(3))
    for summary in summaries:
        for source, (figure, least, most) in _sources(summary.tiers).items():
            tokens[source] += figure
            low[source] += least
            high[source] += most
    whole = sum(tokens.values())
    return [
        Segment(source, tokens[source], tokens[source] / whole, low[source] / whole, high[source] / whole)
        for source in Source
        if tokens[source] > 0 or (whole and round(100 * high[source] / whole) > 0)
    ]


def hit_bounds(parts: Iterable[Segment]) -> tuple[float, float]:
    """Between which shares the hit ratio by token lies: what is not known may be all hits, or none."""
    shares = {part.source: part.share for part in parts}
    low = sum(shares.get(source, 0.0) for source in (Source.L0, Source.L1, Source.L2, Source.LOWER))
    return low, min(1.0, low + shares.get(Source.UNKNOWN, 0.0))


def _sources(tiers: TierSplit) -> dict[Source, tuple[float, float, float]]:
    """(tokens, low, high) of each source; {} where not even the prompt tokens are known."""
    whole = tiers.prompt_tokens.value
    if whole is None:
        return {}
    found: dict[Source, tuple[float, float, float]] = {}
    for source, figure in ((Source.L0, tiers.l0), (Source.MISS, tiers.miss), (Source.TRANSFER, tiers.transfer)):
        if figure is not None and figure.value is not None:
            found[source] = (figure.value,) * 3
    if tiers.lower.value is not None:
        l1, l2 = tiers.l1, tiers.l2
        if l1.figure.value is None or l2.figure.value is None:
            found[Source.LOWER] = (tiers.lower.value,) * 3
        else:
            for source, part in ((Source.L1, l1), (Source.L2, l2)):
                value = part.figure.value or 0.0
                found[source] = (value, _or(part.low.value, value), _or(part.high.value, value))
    if tiers.l0.value is not None and tiers.l0.value > whole:
        found = {}  # more hit than looked up: nothing here is a share
    rest = whole - sum(value for value, _, _ in found.values())
    found[Source.UNKNOWN] = (max(0.0, rest),) * 3
    return found


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def source_series(series: pd.DataFrame) -> pd.DataFrame:
    """The same partition over time.

    Args:
        series: as `Store.endpoint_series` of one endpoint or of the total.

    Returns:
        `at`, `prompt_tokens`, and tokens per bucket in one column per `Source`; NaN in all of them
        where the prompt tokens are unknown.
    """
    split_known = series["l1"].notna() & series["l2"].notna()
    known = pd.DataFrame(
        {
            Source.L0: series["l0"],
            Source.L1: series["l1"].where(split_known),
            Source.L2: series["l2"].where(split_known),
            Source.LOWER: series["lower"].where(~split_known),
            Source.MISS: series["miss"],
            Source.TRANSFER: series["transfer"],
        }
    ).fillna(0.0)
    whole = series["prompt_tokens"]
    known = known.where(~(known[Source.L0] > whole), other=0.0)  # more hit than looked up: nothing is a share
    rest = whole - known.sum(axis=1)
    known[Source.UNKNOWN] = rest.where(rest > _ROUNDING * whole, 0.0)
    known = known.where(whole.notna(), other=float("nan"))
    known.columns = pd.Index([str(source) for source in known.columns])
    return known.assign(at=series["at"], prompt_tokens=whole)
