"""What the exported rules can be told: windows, thresholds, the TTFT objective, labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from alerting.export.names import TTFT_BOUNDS
from alerting.export.promql import Scope
from tierdeck.errors import UsageError
from tierdeck.units import parse_duration

_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Windows:
    """How far back the rules look, in seconds. Tests on a fleet whose time passes quickly make them short.

    Attributes:
        short, long: of the hit ratio now; it has to be low over both.
        past: how long ago what is usual is looked up; those that exist count.
        past_span: of the past, around that instant.
        stores: of stores to L2 and of loads from it.
        pool: of the pool's pace; full: how long before it is full it is told.
        deferred: how long without interruption requests wait for the cache.
        memory: how long a replica that is gone is remembered.
        stale: how old Tierdeck's own figures may be.
        burn: pairs of windows of the TTFT objective, each with how many times the budget.
        hold: factor on how long each rule holds before it fires, and before it is over.
    """

    short: float = 300.0
    long: float = 900.0
    past: tuple[float, ...] = (_DAY, 7 * _DAY)
    past_span: float = 3600.0
    stores: float = 600.0
    pool: float = 3600.0
    full: float = 4 * 3600.0
    deferred: float = 120.0
    memory: float = 3600.0
    stale: float = 300.0
    burn: tuple[tuple[float, float, float], ...] = ((14.4, 3600.0, 300.0), (6.0, 6 * 3600.0, 1800.0))
    hold: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.short <= self.long:
            raise ValueError("the short window is the longer one")
        if any(self.past_span / 2 >= ago for ago in self.past):
            raise ValueError("the past reaches into the present")


@dataclass(frozen=True, slots=True)
class Objective:
    """So large a share of first tokens comes within so many seconds."""

    share: float
    seconds: float

    @classmethod
    def of(cls, text: str) -> Objective:
        """Of `0.95:2.5s`.

        Raises:
            UsageError: no objective, or not at a bound of vLLM's buckets, so that no query could tell.
        """
        match = re.fullmatch(r"\s*(0?\.\d+)\s*:\s*(\S+)\s*", text)
        if match is None or not 0 < float(match[1]) < 1:
            raise UsageError(f"{text!r} is no TTFT objective", "Write it like 0.95:2.5s: 95 % within 2.5 seconds.")
        seconds = parse_duration(match[2])
        if seconds not in TTFT_BOUNDS:
            below = max((one for one in TTFT_BOUNDS if one < seconds), default=TTFT_BOUNDS[0])
            above = min((one for one in TTFT_BOUNDS if one > seconds), default=TTFT_BOUNDS[-1])
            near = " or ".join(f"{one:g}s" for one in dict.fromkeys((below, above)))
            raise UsageError(
                f"none of vLLM's TTFT buckets ends at {seconds:g} s, so that nobody can count what came later",
                f"Take {near}.",
            )
        return cls(float(match[1]), seconds)

    @property
    def budget(self) -> float:
        """Share of first tokens that may be late."""
        return round(1 - self.share, 9)

    def burns(self, windows: Windows) -> tuple[tuple[float, float, float], ...]:
        """The pairs that can be reached: no more than all can be late.

        Raises:
            UsageError: none can.
        """
        found = tuple(one for one in windows.burn if one[0] * self.budget < 1)
        if not found:
            least = 1 - 1 / min(one[0] for one in windows.burn)
            raise UsageError(
                f"an objective of {self.share:g} leaves so much room that no pace spends it too fast",
                f"Ask for more than {least:.2f}.",
            )
        return found


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """All that `export prometheus-rules` can be told.

    Attributes:
        floor: hit ratio below which an endpoint must not fall; None: no such rule.
        depth: how far below what is usual is a drop, as a difference of ratios.
        least_tokens, least_requests: traffic in the long window without which no hit ratio is judged.
        runbook_base: address of docs/alerts.md, wherever it is read; empty: alerts have no such link.
        labels: that every alert carries besides its own.
        interval: seconds between two evaluations; None: the server's.
    """

    scope: Scope = field(default_factory=Scope)
    windows: Windows = field(default_factory=Windows)
    objective: Objective | None = None
    floor: float | None = None
    depth: float = 0.08
    least_tokens: float = 10_000.0
    least_requests: float = 30.0
    runbook_base: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    interval: float | None = None

    def __post_init__(self) -> None:
        if self.floor is not None and not 0 < self.floor < 1:
            raise UsageError(f"{self.floor:g} is no floor of a hit ratio", "Write 0.3 for 30 %.")
        if not 0 < self.depth < 1:
            raise UsageError(f"{self.depth:g} is no depth of a drop", "Write 0.08 for 8 points.")
        for name in self.labels:
            if not re.fullmatch(r"[a-zA-Z_]\w*", name) or name in ("alertname", "severity"):
                raise UsageError(f"{name!r} can't be a label of all alerts", "Write it like cluster=east.")


def pairs(texts: list[str]) -> dict[str, str]:
    """Of `k=v`, each.

    Raises:
        UsageError: one without `=` or without a name.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"{text!r} is no label", "Write it like release=monitoring.")
        found[name.strip()] = value.strip()
    return found
