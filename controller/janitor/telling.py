"""What a round says of itself, in sentences and as an event."""

from __future__ import annotations

from collections.abc import Sequence

from tierdeck.events import Event, EventKind
from tierdeck.fleet import POOL
from tierdeck.l2.cleaning import Plan
from tierdeck.l2.janitor_runs import JanitorRun, Order, Outcome
from tierdeck.l2.pool_file import PoolRoom
from tierdeck.l2.room import Pace
from tierdeck.units import format_count, format_ratio, format_size

_LEAST_SHARE = 0.8
"""Of what was deleted, the pool's use has to fall by; else it is said."""
_PACE_ERROR = 0.25
"""By so much of it, what is taken for written meanwhile may be wrong."""
_BY = {Order.READ: "read or written longest ago", Order.WRITTEN: "written longest ago"}


def due_words(room: PoolRoom, high: float, pace: Pace | None) -> str:
    """Why a round begins."""
    used = f"{format_ratio(room.used_ratio)} of {format_size(room.capacity_bytes)} are used"
    written = "" if pace is None else f", {format_size(max(0.0, pace.busy))}/s are written"
    return f"{used}{written}; the high-water mark is {format_ratio(high)}"


def foreign_words(count: int, named: Sequence[str]) -> str:
    """Why a directory is left alone."""
    more = f" and {count - len(named):,} more" if count > len(named) else ""
    return (
        f"Nothing was deleted: {', '.join(named)}{more} {'is' if count == 1 else 'are'} nothing that LMCache writes. "
        "Name the directory that holds LMCache's files and nothing else."
    )


def others_words(others_bytes: float, capacity_bytes: float, low: float) -> str:
    """Why a folder is not emptied for what others store in its pool."""
    return (
        f"Nothing was deleted: {format_size(others_bytes)} of the {format_size(capacity_bytes)} in the pool are not "
        f"this folder's, or of blocks that never became free. That alone is above the low-water mark "
        f"({format_ratio(low)}): emptying the folder would not reach it. TIERDECK_JANITOR_CAPACITY_BYTES gives the "
        "folder a limit of its own."
    )


def waiting_words(owed_bytes: float) -> str:
    """What is still to come of what went before; empty: nothing."""
    return f" {format_size(owed_bytes)} that were deleted before are not free yet." if owed_bytes >= 1 else ""


def futile_words(owed_bytes: float) -> str:
    """Why nothing more goes from a pool that gives nothing back."""
    return (
        f"{format_size(owed_bytes)} were deleted, and hardly any of it became free in 15 minutes: nothing more is "
        "deleted until the pool's use falls, or for 6 hours. Look at its workers: blocks are freed by them."
    )


def behind_words() -> str:
    """What is wrong where writing is faster than deleting."""
    return (
        "The pool is above its high-water mark all the same: more is written than TIERDECK_JANITOR_FILES_PER_SECOND "
        "and TIERDECK_JANITOR_BYTES_PER_SECOND let go."
    )


def result_words(run: JanitorRun, plan: Plan, trouble: str = "", written_bytes: float = 0.0) -> str:
    """What came of it.

    Args:
        written_bytes: about how much was written to the pool meanwhile.
    """
    said = [_gone(run)]
    if run.temporary_files:
        said.append(f"{_files(run.temporary_files, run.temporary_bytes)} of these are orphans of broken writes.")
    if run.spared_files:
        said.append(f"{run.spared_files:,} were used again or gone by then.")
    if not plan.is_enough:
        said.append("That is not enough for the low-water mark: no more files are old enough, or may go in one round.")
    if trouble:
        said.append(f"Something was in the way: {trouble.rstrip('.')}.")
    return " ".join([*said, *_fall(run, written_bytes)])


def _gone(run: JanitorRun) -> str:
    found = f"{_files(run.files, run.size_bytes)} are there"
    if run.outcome is Outcome.DRY:
        chosen = _files(run.chosen_files + run.temporary_files, run.chosen_bytes + run.temporary_bytes)
        return f"{found}; {chosen} would go, those {_BY[run.order]}. Nothing was deleted (dry run)."
    if run.outcome is Outcome.NOTHING:
        return f"{found}; nothing has to go."
    return f"{found}; {_files(run.deleted_files, run.deleted_bytes)} went, those {_BY[run.order]}."


def _fall(run: JanitorRun, written_bytes: float) -> list[str]:
    fell = run.fell_bytes
    if not run.deleted_bytes:
        return []
    if fell is None:
        return ["The pool's use was not waited for."]
    net = fell + written_bytes
    meanwhile = f", about {format_size(written_bytes)} written meanwhile taken off" if written_bytes >= 1 else ""
    told = f"The pool's use fell by {format_size(max(0.0, net))}{meanwhile}"
    if not is_ineffective(run, written_bytes):
        return [f"{told}."]
    return [
        f"{told}, which is less than what went: blocks are freed later than files, or lay on workers that are lost."
    ]


def is_ineffective(run: JanitorRun, written_bytes: float) -> bool:
    """Much less room came of it than was deleted."""
    fell = run.fell_bytes
    least = _LEAST_SHARE * run.deleted_bytes - _PACE_ERROR * written_bytes
    return fell is not None and run.deleted_bytes > 0 and fell + written_bytes < least


def event_of(run: JanitorRun) -> Event:
    """The round as something that happened to its pool."""
    detail = {
        "outcome": run.outcome.value,
        "files": str(run.deleted_files),
        "bytes": str(run.deleted_bytes),
        "why": run.why,
    }
    subject = f"pool {run.pool}"
    key = f"janitor/{run.pool}/{run.started_at:.0f}"
    at = run.ended_at if run.ended_at is not None else run.started_at
    return Event(run.cluster, POOL, run.pool, at, EventKind.JANITOR, subject, f"Janitor: {run.words}", key, detail)


def _files(count: int, size_bytes: float) -> str:
    number = f"{count:,}" if count < 10_000 else format_count(count)
    return f"{number} file{'' if count == 1 else 's'} ({format_size(size_bytes)})"
