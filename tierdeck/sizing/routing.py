"""How routers choose a replica: one small class per strategy.

Sources: production-stack's router (roundrobin, session, prefixaware, kvaware) and vllm-router's
cache_aware, whose balance thresholds prefixaware takes over.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt


class Candidate(Protocol):
    """A replica as routers see it."""

    @property
    def name(self) -> str: ...

    @property
    def outstanding(self) -> int:
        """Requests sent to it and not finished."""
        ...

    def held_tokens(self, prompt: Prompt) -> int:
        """Leading tokens of the prompt that its L0 or L1 has."""
        ...


class Router(Protocol):
    """Chooses among at least one candidate; remembers what it needs."""

    @property
    def strategy(self) -> RoutingStrategy: ...

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        """Index of the replica that gets the prompt."""
        ...


@dataclass(frozen=True, slots=True)
class Balance:
    """When a replica is too busy to get more for the sake of its cache: both bounds are exceeded.

    Attributes:
        absolute: outstanding requests more than the least loaded replica has.
        relative: times as many as the least loaded has.
    """

    absolute: int = 4
    relative: float = 1.5

    def is_upset(self, outstanding: int, least: int) -> bool:
        return outstanding - least > self.absolute and outstanding > self.relative * least


class LeastLoaded:
    """One of those with fewest outstanding requests, taking turns."""

    def __init__(self) -> None:
        self._turn = -1

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        self._turn = (self._turn + 1) % len(candidates)
        best = self._turn
        for index in (*range(self._turn, len(candidates)), *range(self._turn)):
            if candidates[index].outstanding < candidates[best].outstanding:
                best = index
        return best


class RoundRobin:
    """One after the other."""

    strategy = RoutingStrategy.ROUNDROBIN

    def __init__(self) -> None:
        self._turn: int = -1

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        self._turn = (self._turn + 1) % len(candidates)
        return self._turn


class Session:
    """Consistent hashing of the session; without one, the least loaded."""

    strategy = RoutingStrategy.SESSION
    _POINTS = 64

    def __init__(self) -> None:
        self._least_loaded = LeastLoaded()
        self._names: tuple[str, ...] = ()
        self._points: list[int] = []
        self._owners: list[int] = []

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        if not prompt.session:
            return self._least_loaded.choose(prompt, candidates)
        names = tuple(candidate.name for candidate in candidates)
        if names != self._names:
            ring = sorted(
                (_point(f"{name}#{turn}"), index) for index, name in enumerate(names) for turn in range(self._POINTS)
            )
            self._names = names
            self._points, self._owners = [point for point, _ in ring], [owner for _, owner in ring]
        return self._owners[bisect_right(self._points, _point(prompt.session)) % len(self._owners)]


class PrefixAware:
    """A replica that was sent the longest matching prefix before, unless it is far busier than others.

    Block ids stand for whole prefixes, so that the trie is a dictionary from id to the replicas that were
    sent it; the least recently used leaves go first.
    """

    strategy = RoutingStrategy.PREFIXAWARE
    _MAX_BLOCKS = 2_000_000

    def __init__(self, *, least_match: float = 0.1, balance: Balance | None = None) -> None:
        """
        Args:
            least_match: share of the blocks that must match; below, the least loaded gets the prompt.
        """
        self._least_match = least_match
        self._balance = balance or Balance()
        self._least_loaded = LeastLoaded()
        self._owners: OrderedDict[int, int] = OrderedDict()
        self._bits: dict[str, int] = {}

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        bits = [self._bits.setdefault(candidate.name, 1 << len(self._bits)) for candidate in candidates]
        least = self._least_loaded.choose(prompt, candidates)
        owners = self._matching(prompt.blocks, sum(bits))
        chosen = min(
            (index for index, bit in enumerate(bits) if bit & owners),
            key=lambda index: candidates[index].outstanding,
            default=least,
        )
        if self._balance.is_upset(candidates[chosen].outstanding, candidates[least].outstanding):
            chosen = least
        self._remember(prompt.blocks, bits[chosen])
        return chosen

    def _matching(self, blocks: Sequence[int], available: int) -> int:
        """Bits of the replicas that were sent the longest matching prefix; 0 where too little matches."""
        known, matched, owners = self._owners, 0, available
        for block in blocks:
            still = known.get(block, 0) & owners
            if not still:
                break
            matched, owners = matched + 1, still
        return owners if matched and matched >= self._least_match * len(blocks) else 0

    def _remember(self, blocks: Sequence[int], bit: int) -> None:
        owners = self._owners
        for block in reversed(blocks):
            owners[block] = owners.get(block, 0) | bit
            owners.move_to_end(block)
        while len(owners) > self._MAX_BLOCKS:
            owners.popitem(last=False)


class KvAware:
    """The replica that holds most of the prompt in L0 or L1, unless it is far busier than others.

    Where nobody holds enough, the least loaded one.
    """

    strategy = RoutingStrategy.KVAWARE

    def __init__(self, *, least_share: float = 0.4, balance: Balance | None = None) -> None:
        """
        Args:
            least_share: of the prompt's tokens that must be held.
        """
        self._least_share = least_share
        self._balance = balance or Balance()
        self._least_loaded = LeastLoaded()

    def choose(self, prompt: Prompt, candidates: Sequence[Candidate]) -> int:
        least = self._least_loaded.choose(prompt, candidates)
        held = [candidate.held_tokens(prompt) for candidate in candidates]
        most = max(held)
        if most < self._least_share * prompt.tokens:
            return least
        best = [index for index, tokens in enumerate(held) if tokens == most]
        chosen = min(best, key=lambda index: candidates[index].outstanding)
        is_upset = self._balance.is_upset(candidates[chosen].outstanding, candidates[least].outstanding)
        return least if is_upset else chosen


def make_router(strategy: RoutingStrategy) -> Router:
    """A router that remembers nothing yet."""
    return _ROUTERS[strategy]()


_ROUTERS: dict[RoutingStrategy, type[RoundRobin | Session | PrefixAware | KvAware]] = {
    router.strategy: router for router in (RoundRobin, Session, PrefixAware, KvAware)
}


def _point(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
