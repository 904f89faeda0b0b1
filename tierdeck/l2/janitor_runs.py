"""What a round of the janitor found and did: the row that the store keeps of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a round ended."""

    RUNNING = "running"
    """It goes on, or its process was killed in the middle: the row says what had been deleted by then."""
    NOTHING = "nothing"
    """It looked, and nothing had to go."""
    DRY = "dry"
    """It says what would go, and deleted nothing."""
    CLEANED = "cleaned"
    """Files were deleted, down to the low-water mark."""
    SHORT = "short"
    """Files were deleted, and the low-water mark was not reached: `words` says why."""
    REFUSED = "refused"
    """It deleted nothing, since this can't be, or holds more than, a pool of LMCache's files."""


class Order(StrEnum):
    """By what a file is old."""

    READ = "read"
    """By when it was read last, or written if that is later."""
    WRITTEN = "written"
    """By when it was written: the mount keeps no time of the last read."""


@dataclass(frozen=True, slots=True)
class IdentityPart:
    """One identity's directory in a round.

    Attributes:
        identity: the directory below the pool's root; `.` for files that lie in the root itself.
        last_used_at: of its file that was used last; None: it has none.
        deleted_files, deleted_bytes: in a dry round those that would have gone.
    """

    identity: str
    files: int
    size_bytes: int
    last_used_at: float | None = None
    deleted_files: int = 0
    deleted_bytes: int = 0


@dataclass(frozen=True, slots=True)
class JanitorRun:
    """One round.

    Attributes:
        pool: what the pool is called.
        holder: the process.
        why: what made it look, in words.
        words: what came of it, in a sentence.
        used_before_bytes, used_after_bytes: of the pool as it tells itself, or as its files add up; None: not told.
        files, size_bytes: what was found; orphaned temporary files are not among them.
        chosen_files, chosen_bytes: what was to go.
        deleted_files, deleted_bytes: what went, orphans included; 0 in a dry round.
        spared_files: chosen, and used again or gone by the time it was their turn.
        temporary_files, temporary_bytes: orphans of writes that never ended; those that went, or would go.
        seconds_walking: how long looking at every file took.
        id: 0: not in the store yet.
        owed_bytes: deleted before this round, and not known to be free when it began.
        seen_bytes: of all files, as the walk saw them; 0: it did not come to its end.
    """

    cluster: str
    pool: str
    holder: str
    started_at: float
    is_dry: bool
    outcome: Outcome = Outcome.RUNNING
    ended_at: float | None = None
    why: str = ""
    words: str = ""
    order: Order = Order.WRITTEN
    capacity_bytes: float | None = None
    used_before_bytes: float | None = None
    used_after_bytes: float | None = None
    files: int = 0
    size_bytes: int = 0
    chosen_files: int = 0
    chosen_bytes: int = 0
    deleted_files: int = 0
    deleted_bytes: int = 0
    spared_files: int = 0
    temporary_files: int = 0
    temporary_bytes: int = 0
    seconds_walking: float = 0.0
    identities: tuple[IdentityPart, ...] = ()
    id: int = 0
    owed_bytes: float = 0.0
    seen_bytes: int = 0

    @property
    def fell_bytes(self) -> float | None:
        """By how much the pool's use fell over the round; negative: it grew; None: not told."""
        if self.used_before_bytes is None or self.used_after_bytes is None:
            return None
        return self.used_before_bytes - self.used_after_bytes
