"""L1 and L2 lose their content faster than it is used again."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, Finding, from_to, of_points
from tierdeck.alerts.circumstances import LOWER, Circumstances
from tierdeck.alerts.comparison import LEAST_POINTS, Compared, steady
from tierdeck.alerts.usage import l1_usage, pool_usage

_LOST = 0.8
_FULL = 0.95


class EvictionStorm:
    """L1 and L2 fall on all replicas while L0 holds. Evictions themselves are not in the store: their traces are."""

    name = "eviction_storm"
    rules = RATIO_RULES | {"ttft_burn"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        replicas = [one for one in steady(seen) if one.change("lower") is not None]
        if not replicas or not all(map(_finds_less, replicas)) or all(one.falls("l0", 0.4) for one in replicas):
            return
        l1, pool = l1_usage(seen), pool_usage(seen)
        lost = [f"{what} holds {from_to(*used)} of its size" for what, used in (("L1", l1), ("the pool", pool))
                if used is not None and used[1] < _LOST * used[0]]  # fmt: skip
        full = [f"{what} is {100 * used[1]:.0f} % full" for what, used in (("L1", l1), ("the pool", pool))
                if used is not None and used[1] >= _FULL]  # fmt: skip
        if not lost and any((one.change("in_l1") or 0.0) >= LEAST_POINTS for one in replicas):
            return  # L1 stands in for an L2 that finds less, and is no tier that loses what it holds
        tiers = seen.by_tier
        points = sum(tiers.part(name).total for name in ("L1", "L2", LOWER)) if tiers is not None else None
        why = (
            "their content went (evicted, or deleted as by a quota)"
            if lost
            else "they are full"
            if full
            else "nothing tells why"
        )
        words = f"{of_points(seen, points)}L1 and L2 find less on every replica and L0 does not: {why}"
        certainty = LIKELY if lost else POSSIBLE + 0.1 if full else POSSIBLE - 0.1
        evidence = "; ".join([*lost, *full, f"found {_found(seen)}", "evictions themselves are not in the store"])
        yield Finding(certainty, words, evidence, points, at=seen.onset_at)


def _finds_less(one: Compared) -> bool:
    return one.falls("lower" if one.before.found is None else "found", 0.25)


def _found(seen: Circumstances) -> str:
    said = []
    for name, tier in (("l1_found", "L1"), ("l2_found", "L2")):
        sides = [side.per(name, "lookup_tokens") for side in (seen.before, seen.after)]
        if sides[0] is not None and sides[1] is not None:
            said.append(f"in {tier} {from_to(sides[0], sides[1])} of lookups")
    return ", ".join(said) or "is not told by tier"
