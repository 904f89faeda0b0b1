"""What a pool still owes: bytes that were deleted and are not known to be free; and what was surely written to it.

Curvine frees blocks after their files are gone, and never those on a worker that is lost. So only what can't be
otherwise is believed: use that rises was written, use that falls was freed, and what a walk finds beyond what the walk
before it found and deleting left was written as well, and hid what was freed. Use less what is owed is then never more
than what was told once, plus what was written since, less what was deleted since: deleting down to the mark by it
can't empty the pool, however late blocks come.

Source of the one doubt: a walk takes time, and what is written in it while blocks become free may count twice.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tierdeck.l2.janitor_runs import JanitorRun
from tierdeck.l2.pool_file import PoolRoom

OWED_SECONDS = 900.0
"""So long it may come yet; after that it is taken for lost, and other files may go for it."""
FUTILE_SECONDS = 6 * 3600.0
"""The same where nearly nothing came: deleting more would make no room either."""
_FUTILE_SHARE = 0.2


@dataclass(slots=True)
class _Entry:
    """What was deleted at a moment, what of it is owed, and all that was owed and had come by then."""

    at: float
    size_bytes: float
    total_bytes: float
    come_bytes: float


@dataclass(frozen=True, slots=True)
class _Walk:
    seen_bytes: float
    written_bytes: float
    deleted_bytes: float


class Owed:
    """One pool's."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._used: float | None = None
        self._walk: _Walk | None = None
        self._deleted = 0.0
        self._come = 0.0
        self._now = float("-inf")
        self.written_bytes = 0.0
        """Surely written to the pool since this began."""
        self._is_guess = False

    @property
    def size_bytes(self) -> float:
        return sum(entry.size_bytes for entry in self._entries)

    @property
    def is_futile(self) -> bool:
        """It was waited for long enough, and nearly nothing came."""
        return bool(self._entries) and self._now >= self._entries[0].at + OWED_SECONDS

    def deleted(self, now: float, size_bytes: float) -> None:
        """So much went."""
        if size_bytes > 0:
            self._deleted += size_bytes
            self._entries.append(_Entry(now, size_bytes, self.size_bytes + size_bytes, self._come))

    def looked(self, now: float, used_bytes: float) -> None:
        """The pool told its use."""
        if self._used is not None and used_bytes >= self._used:
            self.written_bytes += used_bytes - self._used
        elif self._used is not None:
            self._settle(self._used - used_bytes)
        self._used, self._now = used_bytes, now
        while self._entries and now >= self._entries[0].at + OWED_SECONDS:
            oldest = self._entries[0]
            came = self._come - oldest.come_bytes
            if came < _FUTILE_SHARE * oldest.total_bytes and now < oldest.at + FUTILE_SECONDS:
                break
            self._entries.popleft()

    def walked(self, seen_bytes: float, began_bytes: float) -> bool:
        """Every file was seen, and the pool's use was told after that.

        Args:
            began_bytes: `written_bytes` as it was when the walk began.

        Returns:
            Whether what had been deleted before it was a guess, so that what it found was not all written.
        """
        hidden, last = 0.0, self._walk
        if last is not None:
            written = seen_bytes - last.seen_bytes + self._deleted - last.deleted_bytes
            hidden = max(0.0, written - (self.written_bytes - last.written_bytes))
            self.written_bytes += hidden
            self._settle(hidden)
        self._walk = _Walk(seen_bytes, began_bytes + hidden, self._deleted)
        was_guess, self._is_guess = self._is_guess, False
        return was_guess

    @classmethod
    def recalled(cls, run: JanitorRun, now: float) -> Owed:
        """Begin where a process before this one ended, by the newest round that saw every file.

        One that was cut off may have deleted all that it had chosen; the next walk tells.
        """
        one = cls()
        one._used = run.used_before_bytes
        one._walk = _Walk(run.seen_bytes, 0.0, 0.0)
        gone, at = run.deleted_bytes, run.ended_at
        one._is_guess = at is None
        if at is None:
            gone, at = (0 if run.is_dry else run.chosen_bytes + run.temporary_bytes), now
        if run.owed_bytes > 0:
            one._entries.append(_Entry(at, run.owed_bytes, run.owed_bytes, 0.0))
        one.deleted(at, gone)
        return one

    def _settle(self, size_bytes: float) -> None:
        """So much came; for what was deleted first."""
        while self._entries and size_bytes > 0:
            oldest = self._entries[0]
            part = min(size_bytes, oldest.size_bytes)
            oldest.size_bytes -= part
            size_bytes -= part
            self._come += part
            if oldest.size_bytes <= 0:
                self._entries.popleft()


def outstanding(run: JanitorRun, used_bytes: float, written_bytes: float) -> float:
    """Of what a round deleted, what the pool's use has not fallen by; all of it where that is not known.

    Args:
        written_bytes: about how much was written meanwhile. A guess, which ends a wait and deletes nothing.
    """
    if run.used_before_bytes is None:
        return float(run.deleted_bytes)
    return max(0.0, run.deleted_bytes - max(0.0, run.used_before_bytes - used_bytes + written_bytes))


def with_owed(room: PoolRoom, owed_bytes: float) -> PoolRoom:
    """As the pool will be."""
    return PoolRoom(room.capacity_bytes, max(0.0, room.used_bytes - owed_bytes))
