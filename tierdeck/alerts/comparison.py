"""Each replica before and since: the ratios that tell causes apart."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.alerts.circumstances import Circumstances, Stretch

LEAST_POINTS = 0.03
"""A change of a ratio by less is nothing."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of one replica in one stretch, in [0, 1]; None: not known.

    Attributes:
        l0, lower, hits: of prompt tokens. `lower`: L1 and L2 together.
        found, in_l1, in_l2: of what LMCache was asked for, which counts what L0 served too.
        share: of the endpoint's prompt tokens.
    """

    l0: float | None
    lower: float | None
    hits: float | None
    found: float | None
    in_l1: float | None
    in_l2: float | None
    share: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One replica that served on both sides."""

    name: str
    before: Ratios
    after: Ratios

    def change(self, name: str) -> float | None:
        one, other = getattr(self.before, name), getattr(self.after, name)
        return None if one is None or other is None else other - one

    def falls(self, name: str, by: float = 0.3) -> bool:
        """By so much of what it was, and by some points."""
        one, other = getattr(self.before, name), getattr(self.after, name)
        return one is not None and other is not None and one - other >= max(LEAST_POINTS, by * one)

    def holds(self, name: str, by: float = 0.3) -> bool:
        """Known on both sides, and does not fall."""
        return self.change(name) is not None and not self.falls(name, by)


def compared(seen: Circumstances) -> tuple[Compared, ...]:
    """Replicas with traffic on both sides, by name."""
    names = sorted(seen.served_before & seen.serving)
    return tuple(Compared(name, _ratios(seen.before, name), _ratios(seen.after, name)) for name in names)


def steady(seen: Circumstances) -> tuple[Compared, ...]:
    """Of them, those that did not restart."""
    return tuple(one for one in compared(seen) if one.name not in seen.restarted)


def _ratios(side: Stretch, name: str) -> Ratios:
    tiers, ledger = side.tiers(name), side.replicas[name].ledger
    prompt, all_prompts = ledger.prompt_tokens or 0.0, side.count("prompt_tokens") or 0.0

    def of(part: float | None, whole: float | None) -> float | None:
        return part / whole if part is not None and whole else None

    return Ratios(
        l0=of(tiers.l0.value, prompt) if tiers is not None else None,
        lower=of(tiers.lower.value, prompt) if tiers is not None else None,
        hits=tiers.by_token.value if tiers is not None else None,
        found=of(ledger.found, ledger.lookup_tokens),
        in_l1=of(ledger.l1_found, ledger.lookup_tokens),
        in_l2=of(ledger.l2_found, ledger.lookup_tokens),
        share=prompt / all_prompts if all_prompts else 0.0,
    )
