"""A tier has another size than before."""

from __future__ import annotations

from collections.abc import Iterator

from tierdeck.account import Gauges
from tierdeck.alerts.cause import RATIO_RULES, RECORDED, Finding, listed, moment, of_points
from tierdeck.alerts.circumstances import LOWER, Circumstances
from tierdeck.events import EventKind
from tierdeck.units import format_count, format_size

_LEAST = 0.02
"""Of the size: vLLM's profile gives a slightly different L0 at each start."""
_GAUGES = {"L0": "kv_capacity_tokens", "L1": "l1_capacity_bytes"}


class Resized:
    """As an event tells it, or the engines' and the pool's own capacities."""

    name = "resized"
    rules = RATIO_RULES | {"ttft_burn", "pool_filling", "pool_full"}

    def find(self, seen: Circumstances) -> Iterator[Finding]:
        changed = sizes_changed(seen)
        if not changed:
            return
        replicas = {name for name in seen.restarted if name in seen.serving}
        points = None
        whole, tiers = seen.by_replica, seen.by_tier
        if whole is not None and tiers is not None:
            is_pool_alone = changed.keys() <= {"L2"}
            names = ("L2",) if any(part.name == "L2" for part in tiers.parts) else (LOWER,)
            of_replicas = sum(whole.part(name).total for name in replicas) if replicas else whole.change
            points = sum(tiers.part(name).total for name in names) if is_pool_alone else of_replicas
        events = seen.told(EventKind.SIZE_CHANGED)
        at = events[0].at if events else min(seen.restarted.values(), default=seen.onset_at)
        words = f"{of_points(seen, points)}{'; '.join(changed.values())}, {moment(seen, at)}"
        evidence = f"restarted for it, and cold: {listed(replicas)}" if replicas else "no replica restarted for it"
        yield Finding(RECORDED + 0.05, words, evidence, points, at=at)


def sizes_changed(seen: Circumstances) -> dict[str, str]:
    """What became of which tier, in words."""
    found = {event.detail.get("tier", "a tier"): event.words for event in seen.told(EventKind.SIZE_CHANGED)}
    for tier, name in _GAUGES.items():
        if tier in found:
            continue
        for replica in sorted(seen.served_before & seen.serving):
            sizes = [getattr(side.replicas[replica].gauges, name) for side in (seen.before, seen.after)]
            if None not in sizes and abs(sizes[1] - sizes[0]) > _LEAST * max(sizes):
                found[tier] = f"{tier} of {replica} went from {_size(name, sizes[0])} to {_size(name, sizes[1])}"
                break
    pool = _pool(seen)
    if "L2" not in found and pool:
        found["L2"] = pool
    return found


def _size(name: str, value: float) -> str:
    return (
        f"{format_count(value)} tokens"
        if name in Gauges.__dataclass_fields__ and "tokens" in name
        else format_size(value)
    )


def _pool(seen: Circumstances) -> str:
    """Another capacity with as many workers: theirs were changed. With fewer it is an outage."""
    for name in dict.fromkeys(reading.pool for reading in seen.pools):
        told = [one for one in seen.pools if one.pool == name and one.account.capacity_bytes and one.account.live]
        before = [one.account for one in told if one.at <= seen.before.ended_at]
        since = [one.account for one in told if one.at > seen.before.ended_at]
        if not before or not since or before[-1].live != since[-1].live:
            continue
        old, new = before[-1].capacity_bytes or 0.0, since[-1].capacity_bytes or 0.0
        if abs(new - old) > _LEAST * max(old, new):
            return f"L2 (pool {name}) went from {format_size(old)} to {format_size(new)}"
    return ""
