"""Workers and mounts of a pool as rows of a table: a shape and a word for each state, words for what is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from console.words import age_words
from tierdeck.l2.members import KnownMember, MountFacts, WorkerFacts
from tierdeck.l2.mounts import MountHealth, MountState
from tierdeck.units import format_count, format_size

WORKER_STATES = {
    "Live": ("● live", "beats"),
    "Decommission": ("◐ being drained", "takes no new chunks; nothing moves away"),
    "Blacklist": ("▲ blacklisted", "silent for 30 s: takes no new chunks"),
    "Lost": ("✕ lost", "silent for 10 minutes: what it held is gone or out of reach"),
}
_ANSWERS = ("○ answers", "its own page answers, and no master says more")
_NOT_KNOWN = ("◌ not known", "neither its page nor the master tells")
MOUNT_GLYPHS = {
    MountState.WORKING: "●",
    MountState.HUNG: "✕",
    MountState.DETACHED: "✕",
    MountState.SILENT: "◌",
    MountState.NONE: "○",
}
_UNKNOWN = "–"


def worker_state(one: KnownMember, now: float, stale_after_seconds: float) -> tuple[str, str]:
    """With its glyph, and what it means."""
    worker = one.member.worker
    if worker is None or one.told_at is None or now - one.told_at > stale_after_seconds:
        return _NOT_KNOWN
    if not worker.status:
        return _ANSWERS
    return WORKER_STATES.get(worker.status, (f"○ {worker.status.lower()}", "as the master calls it"))


def worker_name(one: KnownMember) -> str:
    """As the master calls it, in short; else as its target is called."""
    return _short(one.member.worker.host if one.member.worker is not None else "") or one.member.name


def worker_rows(workers: Sequence[KnownMember], now: float, stale_after_seconds: float) -> pd.DataFrame:
    """One row per worker; empty without any."""
    return _told([_worker(one, now, stale_after_seconds) for one in workers])


def _worker(one: KnownMember, now: float, stale_after_seconds: float) -> dict[str, str | float | None]:
    facts = one.member.worker or WorkerFacts()
    used, is_there = None, facts.status != "Lost"
    if is_there and facts.used_bytes is not None and facts.capacity_bytes:
        used = 100 * facts.used_bytes / facts.capacity_bytes
    return {
        "worker": worker_name(one),
        "node": one.node or one.member.address or _UNKNOWN,
        "state": worker_state(one, now, stale_after_seconds)[0],
        "used": used,
        "held / capacity": f"{_size(facts.used_bytes)} / {_size(facts.capacity_bytes)}",
        "free": _size(facts.available_bytes if is_there else None),
        "disks": _disks(facts),
        "read": _rate(facts.read_rate),
        "written": _rate(facts.written_rate),
        "as of": _ago(one.told_at, now),
        "why": one.member.reason,
    }


def mount_rows(mounts: Sequence[tuple[KnownMember, MountHealth]], now: float) -> pd.DataFrame:
    """One row per mount, in the order given."""
    return _told([_mount(one, health, now) for one, health in mounts])


def _mount(one: KnownMember, health: MountHealth, now: float) -> dict[str, str]:
    facts = one.member.mount or MountFacts()
    is_told = one.member.mount is not None
    return {
        "mount": one.member.name,
        "node": one.node or one.member.address or _UNKNOWN,
        "state": f"{MOUNT_GLYPHS[health.state]} {health.state}",
        "errors": _errors(facts) if is_told else _UNKNOWN,
        "last error": _ago(facts.failed_at, now) if facts.failed_at else ("none seen" if is_told else _UNKNOWN),
        "replies waiting": _count(facts.waiting),
        "under way": _count(facts.active),
        "last sent": _ago(facts.progress_at, one.told_at or now) if is_told else _UNKNOWN,
        "read": _rate(facts.read_rate),
        "written": _rate(facts.written_rate),
        "as of": _ago(one.told_at, now),
        "why": "" if health.is_known_healthy else health.reason,
    }


def _told(rows: Sequence[Mapping[str, str | float | None]]) -> pd.DataFrame:
    """The column of reasons is there where any is given."""
    found = pd.DataFrame(rows)
    return found if any(row["why"] for row in rows) or not rows else found.drop(columns="why")


def state_words(states: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """What each state in a table means, each once."""
    return tuple(f"{word}: {meaning}" for word, meaning in dict.fromkeys(states))


def _errors(facts: MountFacts) -> str:
    return ", ".join(f"{format_count(count)} {errno}" for errno, count in facts.errors) or "none"


def _disks(facts: WorkerFacts) -> str:
    if facts.disks is None:
        return _UNKNOWN
    many = f"{facts.disks:.0f}"
    return f"▲ {facts.failed_disks:.0f} of {many} failed" if facts.failed_disks else many


def _short(host: str) -> str:
    """The pod's name of a DNS name; an IP address whole."""
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]


def _size(size: float | None) -> str:
    return _UNKNOWN if size is None else format_size(size)


def _rate(rate: float | None) -> str:
    return _UNKNOWN if rate is None else f"{format_size(rate)}/s"


def _count(count: float | None) -> str:
    return _UNKNOWN if count is None else format_count(count)


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{age_words(max(0.0, now - at))} ago"
