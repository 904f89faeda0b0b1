"""The change of a ratio of sums, split into parts that add up to it: who changed (within), and whose weight (mix).

With weights w (a member's share of all tokens) and ratios r, the change is the sum over members of
    within = Δr × mean(w)   and   mix = Δw × (mean(r) − c),
where c, the mean of the whole ratio before and after, costs nothing, since the Δw add up to 0: a member that grows
counts against the whole only if its own ratio lies below it. A member that is new or gone has no ratio on the other
side: all it does is mix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tally:
    """What one member (a replica, a tenant) counted in a stretch, in tokens; `tiers`: hits by tier."""

    tokens: float
    tiers: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.tokens < 0:
            raise ValueError(f"tokens can't be negative: {self.tokens}")

    @property
    def hits(self) -> float:
        return sum(self.tiers.values())

    def ratio(self, tier: str) -> float | None:
        """None: no tokens."""
        return self.tiers.get(tier, 0.0) / self.tokens if self.tokens else None


@dataclass(frozen=True, slots=True)
class Part:
    """One member's or tier's share of the change; 0.01 is a point."""

    name: str
    within: float
    mix: float

    @property
    def total(self) -> float:
        return self.within + self.mix


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts' totals add up to `change`."""

    before: float
    after: float
    parts: tuple[Part, ...]

    @property
    def change(self) -> float:
        return self.after - self.before

    def part(self, name: str) -> Part:
        """A part by its name; one that is not there changed nothing."""
        return next((part for part in self.parts if part.name == name), Part(name, 0.0, 0.0))


def by_member(before: Mapping[str, Tally], after: Mapping[str, Tally]) -> Decomposition | None:
    """A part for each member, by name; None where one side has no tokens."""
    return _decompose(before, after, by_tier=False)


def by_tier(before: Mapping[str, Tally], after: Mapping[str, Tally]) -> Decomposition | None:
    """A part for each tier, by name: within: members' own ratios changed; mix: tokens went to other members."""
    return _decompose(before, after, by_tier=True)


def _decompose(before: Mapping[str, Tally], after: Mapping[str, Tally], *, by_tier: bool) -> Decomposition | None:
    sides = before, after
    tokens = [sum(tally.tokens for tally in side.values()) for side in sides]
    if not all(tokens):
        return None
    members = list(dict.fromkeys((*before, *after)))
    tiers = list(dict.fromkeys(tier for side in sides for tally in side.values() for tier in tally.tiers))
    parts: dict[str, Part] = {name: Part(name, 0.0, 0.0) for name in (tiers if by_tier else members)}
    whole = [0.0, 0.0]
    for tier in tiers:
        totals = [
            sum(tally.tiers.get(tier, 0.0) for tally in side.values()) / tokens[number]
            for number, side in enumerate(sides)
        ]
        whole = [one + other for one, other in zip(whole, totals, strict=True)]
        for member in members:
            own = [side.get(member, Tally(0.0)) for side in sides]
            ratios = [one.ratio(tier) for one in own]
            first = ratios[0] if ratios[0] is not None else ratios[1]
            last = ratios[1] if ratios[1] is not None else ratios[0]
            if first is None or last is None:
                continue
            weights = [one.tokens / number for one, number in zip(own, tokens, strict=True)]
            within = (last - first) * sum(weights) / 2
            mix = (weights[1] - weights[0]) * ((first + last) / 2 - sum(totals) / 2)
            name = tier if by_tier else member
            parts[name] = Part(name, parts[name].within + within, parts[name].mix + mix)
    return Decomposition(whole[0], whole[1], tuple(parts.values()))
