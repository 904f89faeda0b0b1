"""What one round of scrapes of one replica gives: the unit that collectors write and the store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tierdeck.account import Answer, Gauges, PoolAccount
from tierdeck.figure import Figure, Ratio
from tierdeck.fleet import ReplicaKey, Target
from tierdeck.histogram import Histogram
from tierdeck.l2.mounts import MountReading
from tierdeck.ledger import TokenLedger


@dataclass(frozen=True, slots=True)
class Scrape:
    """One attempt at one target; `reason` says why it failed, empty when it did not.

    `answered` is true as well for an answer without any reading, such as an HTML page.
    `version` is what the process behind the target told of itself last; empty when unknown.
    """

    target: Target
    at: float
    answered: bool
    reason: str = ""
    duration_seconds: float = 0.0
    body_bytes: int = 0
    version: str = ""

    @property
    def ok(self) -> bool:
        return not self.reason


@dataclass(frozen=True, slots=True)
class SaltCounts:
    """LMCache lookups of one cache salt (tenant) in tokens."""

    lookup_tokens: float = 0.0
    l1_found: float = 0.0
    l2_found: float = 0.0

    @property
    def found_ratio(self) -> Ratio:
        """What was found of what was looked up, in [0, 1]."""
        return Ratio.of(Figure(self.l1_found + self.l2_found), Figure(self.lookup_tokens))

    def __add__(self, other: SaltCounts) -> SaltCounts:
        return SaltCounts(
            self.lookup_tokens + other.lookup_tokens, self.l1_found + other.l1_found, self.l2_found + other.l2_found
        )


@dataclass(frozen=True, slots=True)
class Round:
    """One replica, one moment. `key.replica` is `_fleet` for sources that the replicas share.

    Attributes:
        at: epoch seconds of the round.
        model: served model as exported, "" when unknown.
        ledger: increases since the previous round.
        salts: lookups by cache salt, where more than the empty salt is exported.
        pool: the shared pool's gauges, where one of the targets tells them.
        memory: the accountant's state after this round, JSON-able; the next start goes on from it.
        mounts: of the pool, as their FUSE clients tell them.
        is_past: accounted after the fact: it says nothing about the present (last scrapes, memory).
    """

    key: ReplicaKey
    at: float
    ledger: TokenLedger
    answer: Answer
    scrapes: tuple[Scrape, ...]
    model: str = ""
    ttft: Histogram | None = None
    gauges: Gauges = field(default_factory=Gauges)
    salts: Mapping[str, SaltCounts] = field(default_factory=dict)
    pool: PoolAccount | None = None
    memory: Mapping[str, object] = field(default_factory=dict)
    is_past: bool = False
    mounts: tuple[MountReading, ...] = ()
