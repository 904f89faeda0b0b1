"""What `tierdeck janitor` says: how long each pool's room lasts, and the janitor's last rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from console.cli.tables import grid
from console.pool_figures import own_series, pool_keys, pool_name, present
from db import Store
from tierdeck.account import PoolAccount
from tierdeck.figure import Figure
from tierdeck.fleet import ReplicaKey
from tierdeck.l2.pool_file import PoolRoom
from tierdeck.l2.room import Look, advice, lasting, pace
from tierdeck.l2.run_document import run_document
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings
from tierdeck.units import format_ratio, format_seconds, format_size

_WATCHED_SECONDS = 3600.0
_NONE = "No janitor has been at work. `tierdeck janitor --dry-run PATH` says what one would do (docs/janitor.md)."


def janitor(settings: Settings, last: int) -> dict[str, Any]:
    """The pools with their room, and so many rounds, the newest first."""
    now = time.time()
    with Store.open(settings.store_url) as store:
        runs = store.janitor_runs(limit=last)
        read = {one.key: one for one in store.pool_now()}
        accounts = {key: present(read.get(key), now, settings.stale_after_seconds) for key in pool_keys(store)}
        pools = [_pool(store, key, accounts[key], now, settings.janitor_high_ratio) for key in accounts]
    return {"pools": pools, "runs": [run_document(run) for run in runs]}


def _pool(store: Store, key: ReplicaKey, account: PoolAccount, now: float, high: float) -> dict[str, object]:
    capacity, available = account.capacity_bytes, account.available_bytes
    room = PoolRoom(capacity, max(0.0, capacity - available)) if capacity and available is not None else None
    unknown = account.reason or ("the pool has no capacity" if capacity == 0 else "the pool does not tell it")
    written = pace(_looks(store, key, now)) if room is not None else None
    told = lasting(room, written, high, reason=unknown)
    is_rising = written is not None and written.mean > 0
    figures = {
        "capacity_bytes": Figure.unknown(unknown) if capacity is None else Figure(capacity),
        "used_bytes": Figure.unknown(unknown) if room is None else Figure(room.used_bytes),
        "write_bytes_per_second": Figure(written.mean) if written and is_rising else told.full_in_seconds,
        "busy_write_bytes_per_second": Figure(written.busy) if written and is_rising else told.full_in_seconds,
        "full_in_seconds": told.full_in_seconds,
        "full_soonest_seconds": told.full_soonest_seconds,
        "ttl_hours": told.ttl_hours,
        "ttl_keeps_bytes": told.kept_bytes,
    }
    return {
        "pool": pool_name(key),
        "cluster": key.cluster,
        **{name: figure.value for name, figure in figures.items()},
        "advice": list(advice(told, high)),
        "why": {name: figure.reason for name, figure in figures.items() if not figure.known},
    }


def _looks(store: Store, key: ReplicaKey, now: float) -> list[Look]:
    """The last hour by the minute, with what a janitor deleted meanwhile."""
    start_at = now - _WATCHED_SECONDS
    series = store.pool_series(start_at, now, Resolution.MINUTE, key.cluster)
    own = own_series(series, key).dropna(subset=["capacity_bytes", "available_bytes"])
    runs = [run for run in store.janitor_runs(key.cluster, pool_name(key), limit=500) if run.deleted_bytes]
    looks = []
    for at, whole, free in zip(own["at"], own["capacity_bytes"], own["available_bytes"], strict=True):
        moment = at.timestamp()
        gone = sum(run.deleted_bytes for run in runs if start_at <= (run.ended_at or run.started_at) <= moment)
        looks.append(Look(moment, whole - free, gone))
    return looks


def as_text(document: dict[str, Any]) -> str:
    """The same for people."""
    parts = [_pool_text(pool) for pool in document["pools"]]
    rows = [_row(run) for run in document["runs"]]
    heads = ["began (UTC)", "pool", "outcome", "files found", "went", "by which use fell", "what came of it"]
    parts.append(grid(heads, rows) if rows else _NONE)
    return "\n\n".join(parts)


def _pool_text(pool: dict[str, Any]) -> str:
    used, capacity = pool["used_bytes"], pool["capacity_bytes"]
    size = (
        f"size unknown ({pool['why']['used_bytes']})"
        if used is None
        else f"{format_size(used)} of {format_size(capacity)} used"
    )
    share = "" if used is None else f" ({format_ratio(used / capacity)})"
    paces = pool["write_bytes_per_second"]
    written = f"; {format_size(paces)}/s are written" if paces is not None else ""
    full = pool["full_in_seconds"]
    when = "" if full is None else f"; full in {format_seconds(full)} if nothing is deleted"
    lines = [f"Pool {pool['pool']}: {size}{share}{written}{when}.", *(f"  {line}" for line in pool["advice"])]
    return "\n".join(lines)


def _row(run: dict[str, Any]) -> Sequence[str]:
    before, after = run["used_before_bytes"], run["used_after_bytes"]
    fell = "" if before is None or after is None else _signed(before - after)
    gone = "" if run["dry"] or not run["deleted_files"] else format_size(run["deleted_bytes"])
    outcome = run["outcome"] if run["ended_at"] else "running, or cut off"
    found = f"{run['files']:,} ({format_size(run['size_bytes'])})"
    return [run["started_at"][:19].replace("T", " "), run["pool"], outcome, found, gone, fell, run["words"]]


def _signed(size_bytes: float) -> str:
    return format_size(size_bytes) if size_bytes >= 0 else f"−{format_size(-size_bytes)}"
