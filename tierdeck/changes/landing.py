"""Where a crafted request landed, and what was in it: all that is known of a router's behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Landing:
    """One request of a probe.

    Attributes:
        at, until: when it was sent, and when its answer was complete; seconds on any one clock.
        session: the session that it named; of no other request where it must not matter.
        prefix: the texts that it begins with, longest part first said (`("A", "A'")` begins like `("A",)`); empty: it
            begins like no other. What comes after is of its own.
        replica: which one served it; empty: not known.
        is_direct: it was sent to that replica itself, past the router.
        is_long: it was made to keep its replica busy while others come.
        prompt_tokens, cached_tokens: as the engine tells; None: it does not.
    """

    at: float
    until: float
    session: str
    prefix: tuple[str, ...]
    replica: str
    is_direct: bool = False
    is_long: bool = False
    prompt_tokens: int | None = None
    cached_tokens: int | None = None

    def shares(self, other: Landing) -> int:
        """How many parts both begin with."""
        count = 0
        for mine, theirs in zip(self.prefix, other.prefix, strict=False):
            if mine != theirs:
                break
            count += 1
        return count


def routed(landings: Sequence[Landing]) -> list[Landing]:
    """Those that the router placed, in the order in which they were sent."""
    return sorted((one for one in landings if not one.is_direct), key=lambda one: one.at)
