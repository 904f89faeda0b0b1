"""What is known of a routing strategy's effect, from where crafted requests landed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How sure it is."""

    EFFECTIVE = "effective"
    APPLIED_NOT_EFFECTIVE = "applied_not_effective"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Proof:
    """One probe of an endpoint's router.

    Attributes:
        wished: the strategy that should be in effect; empty: none was expected.
        seen: the strategy that the behaviour fits; empty where it fits several or none.
        evidence: one sentence each, with counts.
        requests: how many were sent; seconds: how long it took.
        at: when it began, epoch seconds.
        tokens: prompt tokens that it sent, by replica: they are no client's.
    """

    verdict: Verdict
    wished: str
    seen: str
    evidence: tuple[str, ...]
    requests: int
    seconds: float
    at: float
    tokens: tuple[tuple[str, int], ...] = ()
