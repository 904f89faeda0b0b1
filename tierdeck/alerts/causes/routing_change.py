"""Requests come to other replicas than those that hold their prefixes."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.alerts.cause import LIKELY, POSSIBLE, RATIO_RULES, RECORDED, Finding, from_to, moment, of_points
from tierdeck.alerts.causes.workload_shift import other_requests
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.alerts.comparison import Compared, steady
from tierdeck.events import Event, EventKind

_MOST = 0.7
"""Of the replicas: L0 falls on nearly all."""


class RoutingChange:
    """L0 falls on all replicas, while what LMCache finds anywhere stays: the texts are the same."""

    name = "routing_change"
    rules = RATIO_RULES | {"ttft_burn"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        replicas = steady(seen)
        events = _events(seen)
        falling = [one for one in replicas if one.falls("l0", 0.15)]
        is_wide = len(replicas) > 1 and len(falling) >= _MOST * len(replicas)
        if not events and not is_wide:
            return
        found = [one for one in replicas if one.change("found") is not None]
        same_texts = bool(found) and all(one.holds("found", 0.2) for one in found)
        is_other = any(other_requests(seen))  # which L0 may hold less well, wherever they are sent
        if not events and found and not same_texts:
            return
        whole = seen.by_replica
        points = sum(whole.part(one.name).total for one in replicas) if whole is not None else None
        said = events[0].words if events else "requests come to other replicas than before"
        hint = "" if events else " (no change of routing was told)"
        at = events[0].at if events else seen.onset_at
        words = f"{of_points(seen, points)}{said}, {moment(seen, at)}{hint}: L0 falls on {len(falling)} of "
        words += f"{len(replicas)} replicas"
        certainty = (
            (RECORDED if is_wide else POSSIBLE) if events else LIKELY if same_texts and not is_other else POSSIBLE
        )
        yield Finding(certainty, words, _evidence(seen, replicas), points, at=at)


def _events(seen: Circumstances) -> tuple[Event, ...]:
    """Changes of routing, and restarts of the router, which forgets where prefixes are."""
    told = [
        *seen.told(EventKind.ROUTING_CHANGED),
        *(event for event in seen.told(EventKind.DRIFT) if event.detail.get("what") == "strategy"),
        *(event for event in seen.told(EventKind.RESTART, EventKind.OOM, EventKind.IMAGE_CHANGED)
          if event.detail.get("component") == "router"),
    ]  # fmt: skip
    return tuple(told)


def _evidence(seen: Circumstances, replicas: tuple[Compared, ...]) -> str:
    parts = [
        f"{one.name}: L0 {from_to(one.before.l0, one.after.l0)}"
        for one in replicas
        if one.before.l0 is not None and one.after.l0 is not None
    ][:3]
    found = [side.per("l1_found", "lookup_tokens") for side in (seen.before, seen.after)]
    whole = [_found(side.per("l2_found", "lookup_tokens"), one) for side, one in
             zip((seen.before, seen.after), found, strict=True)]  # fmt: skip
    if whole[0] is not None and whole[1] is not None:
        parts.append(f"L1 and L2 have {from_to(whole[0], whole[1])} of what is looked up")
    shares = [max((getattr(one, side).share for one in replicas), default=0.0) for side in ("before", "after")]
    parts.append(f"the busiest replica's share of tokens went {from_to(shares[0], shares[1])}")
    if seen.strategy:
        parts.append(f"configured is {seen.strategy}")
    return "; ".join(parts)


def _found(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
