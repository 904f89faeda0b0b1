"""What is said of a pool in sentences: what is wrong now, which chunks are gone, what is less than certain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.pool_figures import PoolFigures
from console.pool_rows import WORKER_STATES, worker_name, worker_state
from tierdeck.figure import Figure
from tierdeck.l2.mounts import MountState
from tierdeck.units import format_count, format_ratio

_MOST_NAMES = 3


def trouble(found: PoolFigures, now: float, stale_after_seconds: float) -> Iterator[str]:
    """The worst first: mounts on which readers block, workers that are away, disks that failed."""
    mounts = len(found.mounts)
    for state, words in ((MountState.HUNG, "hang"), (MountState.DETACHED, "are gone")):
        names = found.mounts_that_are(state)
        if names:
            yield f"✕ {len(names)} of {mounts} mounts {words} ({_listed(names)}): {state.meaning.partition(': ')[2]}."
    away = [WORKER_STATES[name][0] for name in ("Lost", "Blacklist")]
    for one in found.workers:
        state_words, meaning = worker_state(one, now, stale_after_seconds)
        glyph, _, word = state_words.partition(" ")
        if state_words in away:
            yield f"{glyph} {worker_name(one)} is {word}: {meaning}."
    failing = [worker_name(one) for one in found.workers if one.member.worker and one.member.worker.failed_disks]
    if failing:
        yield f"▲ Disks failed on {_listed(failing)}."


def orphan_words(orphans: Figure, files: float | None) -> str:
    """The line about chunks that are listed and gone."""
    if orphans.value is None:
        return f"Orphan chunks: not known; {orphans.reason}."
    if not orphans.value or not files:
        return f"No orphan chunk: {format_count(files or 0.0)} files are listed, and each has its block."
    share = format_ratio(orphans.value / files)
    return (
        f"▲ {format_count(orphans.value)} orphan chunks ({share} of {format_count(files)} files): they are listed and "
        "their blocks are gone with a worker. Lookups find them and reading them fails, until they are deleted or "
        "their TTL ends; files that are being written count too."
    )


def reservations(found: PoolFigures) -> Iterator[str]:
    """What makes the figures less than certain, one sentence each."""
    account, mounts = found.account, len(found.mounts)
    silent = sum(not health.is_read for _, health in found.mounts)
    blind = len(found.mounts_that_are(MountState.SILENT)) - silent
    if account.reason:
        yield f"The pool's size and workers are not known: {account.reason}."
    if not mounts:
        yield (
            "No FUSE mount is among the targets (`curvine-fuse`): reads and writes are those that the workers count, "
            "and failed requests and hangs are not known."
        )
    if silent:
        yield f"{silent} of {mounts} mounts were not read: what goes through them is in no sum until they answer again."
    if blind:
        yield f"{blind} of {mounts} mounts have clients that don't tell whether anything waits: a hang would not show."
    if not any(one.member.worker is not None and one.member.worker.status for one in found.workers):
        yield (
            "The master's list of workers (`curvine-master-api`) is not read: that a worker is blacklisted, being "
            "drained or lost is known in number only."
        )
    if account.lost:
        yield "A worker that was taken away on purpose counts as lost until the master restarts."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
