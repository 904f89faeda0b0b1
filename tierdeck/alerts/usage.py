"""How full L1 and the pool were before and are since."""

from __future__ import annotations

from statistics import fmean

from tierdeck.alerts.circumstances import Circumstances, Stretch

Sides = tuple[float, float]
"""Of the size in [0, 1]: at the end of the stretch before, and now."""


def l1_usage(seen: Circumstances) -> Sides | None:
    """Of the replicas that did not restart; None: not told. Where the size is not, by the most that was used."""
    names = (seen.served_before & seen.serving) - seen.restarted.keys()
    used = [_used(side, names) for side in (seen.before, seen.after)]
    sizes = [_size(side, names) for side in (seen.before, seen.after)]
    if used[0] is None or used[1] is None:
        return None
    size = sizes[1] or sizes[0] or max(used[0], used[1])
    return (used[0] / size, used[1] / size) if size else None


def pool_usage(seen: Circumstances) -> Sides | None:
    """Of all pools of the cluster; None: not told."""
    before: list[float] = []
    since: list[float] = []
    for reading in seen.pools:
        used, size = reading.account.used_bytes, reading.account.capacity_bytes
        if used is not None and size:
            (before if reading.at <= seen.before.ended_at else since).append(used / size)
    return (before[-1], fmean(since[len(since) // 2 :])) if before and since else None


def _used(side: Stretch, names: frozenset[str]) -> float | None:
    known = [value for name in names if (value := side.replicas[name].gauges.l1_used_bytes) is not None]
    return sum(known) if known else None


def _size(side: Stretch, names: frozenset[str]) -> float | None:
    known = [value for name in names if (value := side.replicas[name].gauges.l1_capacity_bytes) is not None]
    return sum(known) if known and len(known) == len(names) else None
