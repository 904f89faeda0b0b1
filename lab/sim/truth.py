"""What really happened, kept apart from all that is exported: the measure of the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tierdeck.sizing.replica import Lookup


@dataclass(slots=True)
class Truth:
    """Tokens of one replica by the tier that served them, over all its lives.

    Attributes:
        overlapped: tokens that L0 served and LMCache had found too.
    """

    prompt_tokens: int = 0
    l0: int = 0
    l1: int = 0
    l2: int = 0
    miss: int = 0
    transferred: int = 0
    overlapped: int = 0
    requests: int = 0
    restarts: int = 0

    def count(self, lookup: Lookup) -> None:
        self.prompt_tokens += lookup.tokens
        self.l0 += lookup.l0
        self.l1 += lookup.l1
        self.l2 += lookup.l2
        self.miss += lookup.miss
        self.transferred += lookup.transferred
        self.overlapped += min(lookup.l0, lookup.found_l1 + lookup.found_l2)
        self.requests += 1

    def document(self) -> dict[str, int]:
        return asdict(self)
