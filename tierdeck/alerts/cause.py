"""What a cause of an alert is; the registry is `tierdeck.alerts.causes`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from tierdeck.alerts.circumstances import Circumstances

RATIO_RULES = frozenset({"hit_ratio_drop", "hit_ratio_drift", "hit_ratio_floor", "tier_drop"})
"""Rules about a hit ratio, whose change can be shared out."""

LEAST_FALL = 0.03
"""A ratio that fell by less did not: there is nothing to share out."""
LOSSES = frozenset({"hit_ratio_drop", "hit_ratio_drift"})
"""Those that say that the whole ratio is below what is usual: while one fires, or once it is accepted, that counts."""

RECORDED = 0.9
"""Certainty of what an event, a counter or a gauge tells outright."""
LIKELY = 0.7
"""… of what nothing else that is known looks like."""
POSSIBLE = 0.4
"""… of what fits, as something else does."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a cause found.

    Attributes:
        certainty: that it is so, in [0, 1]; how much of the drop it explains is weighed apart.
        words, evidence, points, replica, at: as in `FoundCause`; `points` as a change of the ratio (-0.18).
    """

    certainty: float
    words: str
    evidence: str
    points: float | None = None
    replica: str = ""
    at: float | None = None


class Cause(Protocol):
    """One thing that may be why; docs/causes.md has a section for each, held against the registry by a test."""

    @property
    def name(self) -> str:
        """Stays: alerts that are stored name it."""
        ...

    @property
    def rules(self) -> Collection[str]:
        """Rules whose alerts it may cause."""
        ...

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        """Nothing where nothing speaks for it."""
        ...


def clock(at: float) -> str:
    """`14:02 UTC`."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M UTC")


def moment(seen: Circumstances, at: float) -> str:
    """The same, with the date where that is another day than the alert's."""
    is_same_day = int(at // 86400) == int(seen.now // 86400)
    return clock(at) if is_same_day else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def listed(names: Collection[str], most: int = 3) -> str:
    """`a, b and c`; `a, b, c and 4 more`."""
    known = sorted(names)
    if len(known) > most:
        return f"{', '.join(known[:most])} and {len(known) - most} more"
    return " and ".join(filter(None, (", ".join(known[:-1]), known[-1]))) if known else "none"


def per_cent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def from_to(before: float, after: float) -> str:
    """Of two ratios."""
    return f"from {per_cent(before)} to {per_cent(after)}"


def fall(seen: Circumstances) -> float | None:
    """By how much the ratio fell that this is about (-0.25); None: it is about none, it did not, or nobody knows."""
    change = seen.change if seen.rule in RATIO_RULES | {"ttft_burn"} else None
    return change if change is not None and change <= -LEAST_FALL else None


def of_points(seen: Circumstances, points: float | None) -> str:
    """`-18 of -25 points: `; empty where the ratio did not fall, or the share can't be said."""
    change = fall(seen)
    if points is None or change is None:
        return ""
    return f"{_signed(points)} of {_signed(change)} points: "


def _signed(ratio: float) -> str:
    rounded = round(100 * ratio)
    return f"{rounded:+d}" if rounded else "0"
