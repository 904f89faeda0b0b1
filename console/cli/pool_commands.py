"""What `tierdeck pool` says: each pool with its figures, its workers and its mounts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from console.cli.tables import grid
from console.pool_figures import PoolFigures, find_pools, flow, pool_figures, pool_keys, pool_name, read_pool
from console.pool_rows import MOUNT_GLYPHS, worker_name, worker_state
from console.pool_sentences import orphan_words
from console.pool_walk import Absent, walked
from db import Store
from tierdeck.figure import Figure
from tierdeck.fleet import ReplicaKey
from tierdeck.l2.fill import full_words, hours_words, is_full
from tierdeck.l2.janitor_runs import JanitorRun
from tierdeck.l2.members import KnownMember, MountFacts, WorkerFacts
from tierdeck.l2.mounts import MountHealth, MountState
from tierdeck.l2.run_document import run_document
from tierdeck.report import number
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings
from tierdeck.units import format_count, format_ratio, format_seconds, format_size

_NO_POOL = (
    "No L2 pool is observed. Name one under `pools` in a file (docs/config.md), or look at a simulated one: "
    "`tierdeck up --demo`."
)


def pools(settings: Settings, name: str, window_seconds: float) -> dict[str, object]:
    """Every pool of that name, or all; every null has its reason under its key in `why`.

    Raises:
        UsageError: there is no such pool.
    """
    now, stale = time.time(), settings.stale_after_seconds
    resolution = Resolution.for_window(window_seconds)
    with Store.open(settings.store_url) as store:
        keys = find_pools(pool_keys(store), name)
        told = [read_pool(store, key, (now - window_seconds, now), resolution) for key in keys]
        walks = [_walks(store, key) for key in keys]
    found = [pool_figures(one, flow(one.series, (now - window_seconds, now), resolution), now, stale) for one in told]
    documents = [_pool(one, some, now, stale) for one, some in zip(found, walks, strict=True)]
    return {"window_seconds": number(window_seconds), "pools": documents}


@dataclass(frozen=True, slots=True)
class _Walks:
    """The rounds of one pool, the newest first, and what is said where there are none."""

    runs: Sequence[JanitorRun]
    absent: Absent

    @property
    def reason(self) -> str:
        """Why nothing is known of the pool's content."""
        return self.runs[0].words or "the first walk is under way" if self.runs else self.absent.words


def _walks(store: Store, key: ReplicaKey) -> _Walks:
    name = pool_name(key)
    return _Walks(store.janitor_runs(key.cluster, name), Absent(name, store.janitor_pools(key.cluster)))


def _pool(found: PoolFigures, walks: _Walks, now: float, stale: float) -> dict[str, object]:
    account = found.account
    unknown = account.reason or "the pool does not tell it"
    sizes = {name: getattr(account, name) for name in ("capacity_bytes", "available_bytes", "used_bytes")}
    states = ("live", "lost", "blacklisted", "decommissioned")
    figures = {
        "used_ratio": found.used,
        "time_to_full_seconds": _time_to_full(found),
        "read_bytes_per_second": found.read_rate,
        "written_bytes_per_second": found.written_rate,
        "failed_requests": found.failed,
        "orphan_chunks": found.orphans,
    }
    why = {key: unknown for key, size in sizes.items() if size is None}
    why |= {f"workers.{state}": unknown for state in states if getattr(account, state) is None}
    why |= {"files": unknown} if account.files is None else {}
    why |= {key: figure.reason for key, figure in figures.items() if figure.value is None}
    newest = walked(walks.runs)
    if newest is None:
        why |= dict.fromkeys(("walked_at", "identities"), walks.reason)
    return {
        "name": pool_name(found.key),
        "cluster": found.key.cluster,
        **{key: number(size) for key, size in sizes.items()},
        "workers": {state: number(getattr(account, state)) for state in states},
        **{key: number(figure.value) for key, figure in figures.items()},
        "is_filling": found.fill.is_losing,
        "files": number(account.files),
        "members": {
            "workers": [_worker(one, now, stale) for one in found.workers],
            "mounts": [_mount(one, health) for one, health in found.mounts],
        },
        "walked_at": None if newest is None else run_document(newest)["started_at"],
        "identities": None if newest is None else run_document(newest)["identities"],
        "why": why,
    }


def _identity_row(row: dict[str, Any]) -> list[str]:
    used = row["last_used_at"]
    size, files = format_size(row["size_bytes"]), format_count(row["files"])
    return [f"  {row['identity']}", size, files, used[:16].replace("T", " ") if used else "unknown"]


def _time_to_full(found: PoolFigures) -> Figure:
    if is_full(found.account.available_bytes, found.account.live):
        return Figure(0.0)
    if found.fill.left_seconds.known and not found.fill.is_losing:
        return Figure.unknown("it is not filling")
    return found.fill.left_seconds


def _worker(one: KnownMember, now: float, stale: float) -> dict[str, object]:
    facts = one.member.worker or WorkerFacts()
    return {
        "name": worker_name(one),
        "node": one.node or one.member.address or None,
        "state": worker_state(one, now, stale)[0].partition(" ")[2],
        "capacity_bytes": number(facts.capacity_bytes),
        "available_bytes": number(facts.available_bytes),
        "used_bytes": number(facts.used_bytes),
        "disks": number(facts.disks),
        "failed_disks": number(facts.failed_disks),
        "read_bytes_per_second": number(facts.read_rate),
        "written_bytes_per_second": number(facts.written_rate),
        "told_at": _instant(one.told_at),
        "reason": one.member.reason,
    }


def _mount(one: KnownMember, health: MountHealth) -> dict[str, object]:
    facts = one.member.mount or MountFacts()
    return {
        "name": one.member.name,
        "node": one.node or one.member.address or None,
        "state": str(health.state),
        "reason": health.reason,
        "errors": {errno: number(count) for errno, count in facts.errors} if one.member.mount is not None else None,
        "replies_waiting": number(facts.waiting),
        "requests_under_way": number(facts.active),
        "last_sent_at": _instant(facts.progress_at),
        "read_bytes_per_second": number(facts.read_rate),
        "written_bytes_per_second": number(facts.written_rate),
        "told_at": _instant(one.told_at),
    }


def _instant(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def as_text(document: dict[str, Any]) -> str:
    """The same for people."""
    window = format_seconds(document["window_seconds"])
    return "\n\n".join("\n".join(_lines(pool, window)) for pool in document["pools"]) or _NO_POOL


def _lines(pool: dict[str, Any], window: str) -> Iterator[str]:
    why = pool["why"]

    def told(key: str, form: Any = format_size) -> str:
        return f"unknown ({why[key]})" if pool[key] is None else form(pool[key])

    room = f"used {told('used_bytes')} of {told('capacity_bytes')}, free {told('available_bytes')}"
    is_known = pool["capacity_bytes"] is not None
    yield f"{pool['name']}  [{pool['cluster']}]  {room if is_known else told('capacity_bytes')}"
    if pool["used_ratio"] is not None:
        yield f"  used          {format_ratio(pool['used_ratio'])}"
    full = (
        f"full ({full_words(pool['available_bytes'], pool['workers']['live'])})"
        if pool["time_to_full_seconds"] == 0
        else ""
    )
    yield f"  time to full  {full or told('time_to_full_seconds', hours_words)}"
    counts = {state: count for state, count in pool["workers"].items() if count is not None}
    yield f"  workers       {', '.join(f'{count:.0f} {state}' for state, count in counts.items()) or 'unknown'}"
    rates = [told(key, lambda rate: f"{format_size(rate)}/s") for key in
             ("read_bytes_per_second", "written_bytes_per_second")]  # fmt: skip
    yield f"  last {window:<8} read {rates[0]}, written {rates[1]}"
    yield f"  failed        {told('failed_requests', format_count)}"
    orphans = Figure.unknown(why["orphan_chunks"]) if pool["orphan_chunks"] is None else Figure(pool["orphan_chunks"])
    yield f"  {orphan_words(orphans, pool['files'])}"
    if pool["identities"] is None:
        yield f"  identities    {why['identities']}"
    else:
        heads = ["  identity", "size", "files", f"last used (walked {pool['walked_at'][:16].replace('T', ' ')})"]
        yield grid(heads, [_identity_row(row) for row in pool["identities"]])
    members = pool["members"]
    if members["workers"]:
        heads = ["  worker", "node", "state", "used", "capacity", "failed disks", ""]
        yield grid(heads, [_worker_row(row) for row in members["workers"]])
    if members["mounts"]:
        yield grid(["  mount", "node", "state", "errors", "why"], [_mount_row(row) for row in members["mounts"]])


def _worker_row(row: dict[str, Any]) -> list[str]:
    sizes = ["unknown" if row[key] is None else format_size(row[key]) for key in ("used_bytes", "capacity_bytes")]
    failed = "unknown" if row["failed_disks"] is None else f"{row['failed_disks']} of {row['disks']}"
    return [f"  {row['name']}", row["node"] or "", row["state"], *sizes, failed, row["reason"]]


def _mount_row(row: dict[str, Any]) -> list[str]:
    errors = "unknown" if row["errors"] is None else ", ".join(f"{n} {e}" for e, n in row["errors"].items()) or "none"
    state = MountState(row["state"])
    why = "" if state is MountState.WORKING else row["reason"]
    return [f"  {row['name']}", row["node"] or "", f"{MOUNT_GLYPHS[state]} {state}", errors, why]
