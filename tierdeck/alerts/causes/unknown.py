"""None of the known causes fits: what was looked at, and where the drop is."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LEAST_FALL, Finding, from_to, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.rules import BY_NAME

CERTAINTY = 0.2
"""A cause that explains less is named after this one."""


class Unknown:
    """Says so, rather than naming something that does not fit."""

    name = "unknown"
    rules = frozenset(BY_NAME)

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        sides = [seen.ratio(side).value for side in (seen.before, seen.after)]
        words = "No known cause fits"
        if sides[0] is not None and sides[1] is not None:
            if sides[1] > sides[0] - LEAST_FALL:
                words = f"The ratio did not fall: {from_to(sides[0], sides[1])} against {seen.compared_with}"
            else:
                words = f"{of_points(seen, sides[1] - sides[0])}no known cause fits"
        yield Finding(CERTAINTY, words, "; ".join([*_where(seen), *_ruled_out(seen)]), at=seen.onset_at)


def _where(seen: Circumstances) -> Iterator[str]:
    for whole, what in ((seen.by_replica, "replica"), (seen.by_tier, "tier")):
        if whole is not None and whole.change <= -LEAST_FALL and whole.parts:
            worst = min(whole.parts, key=lambda part: part.total)
            yield f"most of it by {what}: {worst.name} {100 * worst.total:+.0f}"


def _ruled_out(seen: Circumstances) -> Iterator[str]:
    if seen.by_replica is None:
        yield "nothing to compare with: no figures before, or none since"
    yield (
        "no replica restarted" if not seen.restarted else f"{len(seen.restarted)} restarted, which explains too little"
    )
    yield "none came or went" if not seen.new | seen.gone else "some came or went, which explains too little"
    yield f"{len(seen.events)} events" if seen.events else "no events (of clusters that a controller watches)"
    lives = [one.account.live for one in seen.pools if one.account.live is not None]
    if lives:
        yield f"{min(lives):.0f} to {max(lives):.0f} workers live"
    stored = seen.after.per("stores_completed", "stores_submitted")
    if stored is not None:
        yield f"{100 * min(stored, 1.0):.0f} % of stores complete"
    lengths = [side.per("prompt_tokens", "requests") for side in (seen.before, seen.after)]
    if lengths[0] and lengths[1]:
        yield f"prompts of {lengths[1]:.0f} tokens after {lengths[0]:.0f}"
