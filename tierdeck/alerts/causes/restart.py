"""Engines began anew (a restart, a rollout, another image, out of memory), and with them L0 and L1 empty."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import POSSIBLE, RATIO_RULES, RECORDED, Finding, from_to, listed, moment, of_points
from tierdeck.alerts.causes.resized import sizes_changed
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import compared
from tierdeck.events import EventKind

_WHY = (EventKind.OOM, EventKind.IMAGE_CHANGED, EventKind.ROLLOUT, EventKind.CRASH_LOOP)
"""The one that says most comes first."""


class Restart:
    """Replicas that are there again under their old name; those under new ones are `capacity`'s."""

    name = "restart"
    rules = RATIO_RULES | {"ttft_burn", "requests_failing", "no_data", "l2_outage"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        restarted = dict(seen.restarted)
        for event in seen.told(EventKind.RESTART, EventKind.OOM, EventKind.CRASH_LOOP):
            if event.replica and event.detail.get("component", "engine") == "engine":
                restarted.setdefault(event.replica, event.at)
        if not restarted:
            return
        whole = seen.by_replica
        points = sum(whole.part(name).total for name in restarted) if whole is not None else None
        first, last = min(restarted.values()), max(restarted.values())
        when = moment(seen, first) if last - first < 60 else f"{moment(seen, first)} to {moment(seen, last)}"
        words = f"{of_points(seen, points)}{_whose(restarted)}, restarted {when}{_why(seen)}"
        certainty = POSSIBLE if sizes_changed(seen) else RECORDED
        only = next(iter(restarted)) if len(restarted) == 1 else ""
        yield Finding(certainty, words, _evidence(seen, restarted), points, only, first)


def _whose(restarted: dict[str, float]) -> str:
    return f"replica{'s' if len(restarted) > 1 else ''} {listed(restarted)}"


def _why(seen: Circumstances) -> str:
    told = seen.told(*_WHY)
    for kind in _WHY:
        for event in told:
            if event.kind is kind:
                return f" ({event.words})"
    return ""


def _evidence(seen: Circumstances, restarted: dict[str, float]) -> str:
    parts = []
    for one in compared(seen):
        if one.name in restarted and one.before.hits is not None and one.after.hits is not None:
            said = f"{one.name}: hit ratio {from_to(one.before.hits, one.after.hits)}"
            if one.before.l0 is not None and one.after.l0 is not None:
                said += f", L0 {from_to(one.before.l0, one.after.l0)}"
            parts.append(said)
    others = [change for one in compared(seen) if one.name not in restarted and (change := one.change("hits"))]
    if others:
        parts.append(f"the others: {100 * min(others):+.0f} to {100 * max(others):+.0f} points")
    return "; ".join(parts[:4]) or "the engine's counters began at 0 again"
