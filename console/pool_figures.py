"""A pool's figures over a window: what page and command show alike, each known or with the reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from console.trends import epoch_seconds
from console.words import age_words
from db import PoolNow, Store
from tierdeck.account import PoolAccount
from tierdeck.errors import UsageError
from tierdeck.figure import Figure, Ratio
from tierdeck.fleet import POOL, ReplicaKey
from tierdeck.l2.fill import WINDOW_SECONDS, Fill, RoomAt, fill_of
from tierdeck.l2.members import KnownMember, MemberKind
from tierdeck.l2.mounts import MountHealth, MountState, mount_health
from tierdeck.l2.orphans import orphan_chunks
from tierdeck.resolution import Resolution

FLOW = ("read_bytes", "written_bytes", "failed_requests")
"""Running totals of a pool's series."""
_NOT_MOVED = "nothing that counts bytes was read twice in the window"
_NO_MOUNT = "no FUSE mount is among the targets, and only those count failed requests"


@dataclass(frozen=True, slots=True)
class PoolTold:
    """What the store told of one pool.

    Attributes:
        now: its newest reading; None: there was never one.
        series: of the window and a step before, as `Store.pool_series`; hour: the last hour by minutes.
    """

    key: ReplicaKey
    now: PoolNow | None
    series: pd.DataFrame
    hour: pd.DataFrame
    members: Sequence[KnownMember]


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """Complete, with nothing left to compute.

    Attributes:
        account: the newest reading; nothing in it is known where that is too old.
        used: of the capacity. others_bytes: what is neither held by the pool nor free.
        read_rate, written_rate: bytes a second over the window. failed: requests in it.
        workers: with what is known of each. mounts: with their health, the worst first.
        at: the instant that they are told for, in epoch seconds.
    """

    key: ReplicaKey
    account: PoolAccount
    used: Ratio
    others_bytes: Figure
    fill: Fill
    read_rate: Figure
    written_rate: Figure
    failed: Figure
    orphans: Figure
    workers: tuple[KnownMember, ...]
    mounts: tuple[tuple[KnownMember, MountHealth], ...]
    at: float

    def mounts_that_are(self, *states: MountState) -> list[str]:
        """Names of the mounts in one of these states."""
        return [one.member.name for one, health in self.mounts if health.state in states]


def pool_name(key: ReplicaKey) -> str:
    """A pool that stands among an endpoint's shared targets is that endpoint's."""
    return key.replica if key.endpoint == POOL else key.endpoint


def pool_keys(store: Store) -> list[ReplicaKey]:
    """Pools that are declared, and others of which something was read, by cluster and name."""
    keys = {replica.key for replica in store.pools()} | {one.key for one in store.pool_now()}
    return sorted(keys, key=lambda key: (key.cluster, pool_name(key), key))


def find_pools(keys: Sequence[ReplicaKey], name: str) -> list[ReplicaKey]:
    """Those of that name, in all clusters; "" is all.

    Raises:
        UsageError: there is none.
    """
    found = [key for key in keys if name in ("", pool_name(key))]
    if name and not found:
        known = ", ".join(sorted({pool_name(key) for key in keys}))
        raise UsageError(f"there is no pool {name!r}", f"Known: {known or 'none'}.")
    return found


def read_pool(store: Store, key: ReplicaKey, edges: tuple[float, float], resolution: Resolution) -> PoolTold:
    """What the store has of it.

    Args:
        edges: of the window, in epoch seconds.
    """
    start_at, end_at = edges
    before = start_at - 2 * max(float(resolution.value), 60.0)
    series = store.pool_series(before, end_at, resolution, key.cluster)
    hour = store.pool_series(end_at - WINDOW_SECONDS, end_at, Resolution.MINUTE, key.cluster)
    now = next((one for one in store.pool_now(key.cluster) if one.key == key), None)
    members = [one for one in store.pool_members(key.cluster) if one.pool == key]
    return PoolTold(key, now, own_series(series, key), own_series(hour, key), members)


def pool_figures(told: PoolTold, rates: pd.DataFrame, now: float, stale_after_seconds: float) -> PoolFigures:
    """From what the store told, at `now` (epoch seconds).

    Args:
        rates: what `flow` makes of its series.
    """
    account = present(told.now, now, stale_after_seconds)
    mounts = [one for one in told.members if one.member.kind is MemberKind.MOUNT]
    health = [(one, mount_health(one, now, stale_after_seconds)) for one in mounts]
    health.sort(key=_worst_first)
    reason = account.reason or "the pool does not tell it"
    capacity, available, used = account.capacity_bytes, account.available_bytes, account.used_bytes
    return PoolFigures(
        key=told.key,
        account=account,
        used=Ratio.of(_figure(used, reason), _figure(capacity, reason)) if capacity else Ratio.unknown(
            reason if capacity is None else "the pool has no capacity"),
        others_bytes=Figure.unknown(reason) if None in (capacity, available, used)
        else Figure(max(0.0, (capacity or 0.0) - (used or 0.0) - (available or 0.0))),
        fill=_fill(told.hour, account),
        read_rate=_mean(rates, "read_bytes", _NOT_MOVED),
        written_rate=_mean(rates, "written_bytes", _NOT_MOVED),
        failed=_sum(rates, "failed_requests", _NOT_MOVED if mounts else _NO_MOUNT),
        orphans=orphan_chunks(account),
        workers=tuple(one for one in told.members if one.member.kind is MemberKind.WORKER),
        mounts=tuple(health),
        at=now,
    )  # fmt: skip


def flow(series: pd.DataFrame, edges: tuple[float, float], resolution: Resolution) -> pd.DataFrame:
    """What went through between two readings: `at` (of the earlier), `seconds`, a column per total, `is_whole`.

    A total that fell began anew: what lies between is not known. A rolled-up row is its bucket's last reading, so that
    the earlier one is where its bucket begins; the last bucket may still fill (not `is_whole`).

    Args:
        edges: of the window; its end is the newest round's instant, where that is earlier.
    """
    told = series[series["read_bytes"].notna()].reset_index(drop=True)
    steps = told[list(FLOW)].diff()
    is_raw = resolution is Resolution.RAW
    began = told["at"].shift() if is_raw else told["at"]
    found = steps.where(steps >= 0).assign(at=began, seconds=told["at"].diff().dt.total_seconds()).iloc[1:]
    passed = edges[1] - epoch_seconds(found["at"])
    found["is_whole"] = passed >= float(resolution.value)
    found["seconds"] = found["seconds"].clip(upper=passed)
    return found[(passed > 0) & (passed <= edges[1] - edges[0] + 1)].reset_index(drop=True)


def own_series(series: pd.DataFrame, key: ReplicaKey) -> pd.DataFrame:
    """The rows of one pool: those of two endpoints are called alike."""
    return series[(series["endpoint"] == key.endpoint) & (series["pool"] == key.replica)].reset_index(drop=True)


def _worst_first(pair: tuple[KnownMember, MountHealth]) -> tuple[int, float, str, str]:
    """By state, then by how lately something failed."""
    one, health = pair
    failed_at = one.member.mount.failed_at if one.member.mount is not None else None
    return list(MountState).index(health.state), -(failed_at or 0.0), one.node, one.member.name


def present(newest: PoolNow | None, now: float, stale_after_seconds: float) -> PoolAccount:
    """What is known of a pool now: an old reading says nothing about that."""
    if newest is None:
        return PoolAccount(reason="nothing was read of the pool yet")
    if now - newest.at > stale_after_seconds:
        return PoolAccount(reason=f"no round of the pool has come for {age_words(now - newest.at)}")
    return newest.account


def _fill(hour: pd.DataFrame, account: PoolAccount) -> Fill:
    known = hour[hour["available_bytes"].notna() & hour["capacity_bytes"].notna()]
    if known.empty or not account.capacity_bytes:
        unknown = Figure.unknown(account.reason or "less than 15 minutes of its past are known")
        return Fill(unknown, unknown, is_losing=False)
    room = zip(known["capacity_bytes"], known["available_bytes"], strict=True)
    kept: list[RoomAt] = list(zip(epoch_seconds(known["at"]).tolist(), room, strict=True))
    return fill_of(kept)


def _mean(rates: pd.DataFrame, name: str, reason: str) -> Figure:
    known = rates[rates[name].notna()]
    return Figure(float(known[name].sum() / known["seconds"].sum())) if len(known) else Figure.unknown(reason)


def _sum(rates: pd.DataFrame, name: str, reason: str) -> Figure:
    known = rates[name].dropna()
    return Figure(float(known.sum())) if len(known) else Figure.unknown(reason)


def _figure(value: float | None, reason: str) -> Figure:
    return Figure(value) if value is not None else Figure.unknown(reason)
