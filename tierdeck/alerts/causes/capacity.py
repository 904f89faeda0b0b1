"""Replicas or nodes went, came, or took each other's place: new ones are cold, and what remains has more to do."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import RATIO_RULES, RECORDED, Finding, from_to, listed, moment, of_points
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.events import EventKind

_TOLD = (
    EventKind.NODE_REPLACED,
    EventKind.NODE_GONE,
    EventKind.NODE_DRAINED,
    EventKind.SCALED_OUT,
    EventKind.SCALED_IN,
    EventKind.EVICTED,
    EventKind.UNSCHEDULABLE,
    EventKind.GONE,
)


class Capacity:
    """What new and gone replicas make of the ratio, by their weight."""

    name = "capacity"
    rules = RATIO_RULES | {"no_data", "ttft_burn", "requests_failing"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        new, gone, events = seen.new, seen.gone, seen.told(*_TOLD)
        if not new and not gone and not (events and seen.rule not in RATIO_RULES):
            return
        whole, points = seen.by_replica, None
        if whole is not None:
            points = sum(part.mix for part in whole.parts if part.name not in seen.restarted)
        at = events[0].at if events else seen.onset_at
        said = _said(new, gone) if new or gone else events[0].words
        because = f" ({events[0].words})" if events and (new or gone) else ""
        words = f"{of_points(seen, points)}{said}, {moment(seen, at)}{because}"
        only = next(iter(new or gone)) if len(new | gone) in (1, 2) and new | gone else ""
        yield Finding(RECORDED, words, _evidence(seen, new, gone), points, only, at)


def _said(new: frozenset[str], gone: frozenset[str]) -> str:
    if new and gone:
        return f"{listed(new)} took the place of {listed(gone)} and began cold"
    if new:
        return f"{listed(new)} came and began cold: their requests find little at first"
    return f"{listed(gone)} went, and with them what they held; the others serve their requests"


def _evidence(seen: Circumstances, new: frozenset[str], gone: frozenset[str]) -> str:
    parts, tokens = [], seen.after.count("prompt_tokens") or 0.0
    for name in sorted(new)[:3]:
        tiers = seen.after.tiers(name)
        own = seen.after.replicas[name].ledger.prompt_tokens or 0.0
        if tiers is not None and tiers.by_token.value is not None and tokens:
            parts.append(f"{name}: hit ratio {100 * tiers.by_token.value:.0f} %, {100 * own / tokens:.0f} % of tokens")
    all_before = seen.before.count("prompt_tokens") or 0.0
    for name in sorted(gone)[:3]:
        own = seen.before.replicas[name].ledger.prompt_tokens or 0.0
        if all_before:
            parts.append(f"{name}: had {100 * own / all_before:.0f} % of tokens before")
    sides = [seen.ratio(side).value for side in (seen.before, seen.after)]
    if sides[0] is not None and sides[1] is not None:
        parts.append(f"all together {from_to(sides[0], sides[1])}")
    return "; ".join(parts) or "as events tell it"
