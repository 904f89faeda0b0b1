"""Which files go, so that a pool stays below its high-water mark: the oldest first, down to the low-water mark.

A survey takes the files one by one and keeps no more of them than can go in one round, so that a million files need
no more memory than the plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from tierdeck.l2.janitor_runs import IdentityPart, Order
from tierdeck.l2.pool_file import FileKind, PoolFile, PoolRoom, printable

_READ_LATER_SECONDS = 60.0
"""A file whose time of reading is so much later than that of writing was read, and the mount keeps when."""
_NAMED = 5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Marks:
    """Shares of the capacity: above `high` the pool is never to be, and cleaning goes down to `low`."""

    high: float = 0.85
    low: float = 0.75

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high <= 1:
            raise ValueError("the low-water mark lies above 0 and below the high one, which is 1 at most")

    def begin_at(self, room: PoolRoom, ahead_bytes: float) -> float:
        """Bytes in use at which cleaning has to begin: with what is written until it takes effect, the pool is full
        to its high-water mark.

        Args:
            ahead_bytes: written until what is deleted next has become room.
        """
        return self.high * room.capacity_bytes - max(0.0, ahead_bytes)

    def is_reached(self, room: PoolRoom, ahead_bytes: float) -> bool:
        """Cleaning has to begin now."""
        return room.used_bytes >= self.begin_at(room, ahead_bytes)

    def to_free(self, room: PoolRoom, ahead_bytes: float = 0.0) -> int:
        """Bytes above the low-water mark; more where so much is written that cleaning begins below that already."""
        half = (self.high - self.low) / 2 * room.capacity_bytes
        lowest = min(self.low * room.capacity_bytes, self.begin_at(room, ahead_bytes) - half)
        return max(0, round(room.used_bytes - max(0.0, lowest)))


@dataclass(frozen=True, slots=True)
class CleaningLimits:
    """What a round may do.

    Attributes:
        grace_seconds: a file that was written since, or read as far as the mount keeps that, by the file's own clock,
            is never deleted: it may still be written, or about to be read.
        temporary_seconds: a temporary file that old is an orphan of a write that never ended.
        most_files: that one round deletes, orphans among them.
        shares: of the capacity, by identity: one that has more loses files before others do.
    """

    grace_seconds: float = 600.0
    temporary_seconds: float = 3600.0
    most_files: int = 50_000
    shares: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if min(self.grace_seconds, self.temporary_seconds) < 0 or self.most_files < 1:
            raise ValueError("times are not negative, and a round may delete a file at least")
        if not all(0 < share <= 1 for share in self.shares.values()):
            raise ValueError("an identity's share lies above 0 and at most at 1")
        if sum(self.shares.values()) > 1 + _ROUNDING:
            raise ValueError("the identities' shares add up to more than the whole pool")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to go.

    Attributes:
        files: in the order in which they go.
        temporary: orphans, whatever room there is.
        size_bytes: of both together.
        is_enough: with them gone, the pool is at its low-water mark.
    """

    files: tuple[PoolFile, ...]
    temporary: tuple[PoolFile, ...]
    size_bytes: int
    is_enough: bool


@dataclass(slots=True)
class _Tally:
    files: int = 0
    size_bytes: int = 0
    last_used_at: float | None = None


class _Oldest:
    """The oldest of what it is given, and no more than so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, int, PoolFile]] = []  # the youngest on top
        self._numbers = count()

    def add(self, used_at: float, file: PoolFile) -> None:
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (-used_at, next(self._numbers), file))
        elif -used_at > self._heap[0][0]:
            heapq.heapreplace(self._heap, (-used_at, next(self._numbers), file))

    def files(self) -> list[PoolFile]:
        """Oldest first; of equally old ones the first by name, whatever order they were found in."""
        ordered = sorted(self._heap, key=lambda one: (-one[0], one[2].identity, one[2].name))
        return [file for *_, file in ordered]


class Survey:
    """One look at every file."""

    def __init__(self, limits: CleaningLimits, now: float, avoided: Collection[str] = ()) -> None:
        """
        Args:
            avoided: paths and identities that are counted, and not chosen.
        """
        self._avoided = avoided
        self._limits = limits
        self._used_before = now - limits.grace_seconds
        self._orphaned_before = now - limits.temporary_seconds
        self._oldest = _Oldest(limits.most_files)
        self._of_identity = {identity: _Oldest(limits.most_files) for identity in limits.shares}
        self._orphans = _Oldest(limits.most_files)
        self._tallies: dict[str, _Tally] = {}
        self._read = 0
        self.files = 0
        self.size_bytes = 0
        self.seen_bytes = 0
        """Of all files, whatever they are."""
        self.foreign = 0
        """How many files are not LMCache's."""
        self.named_foreign: list[str] = []
        """Paths of the first few of them."""

    def add(self, file: PoolFile) -> None:
        """Count it, and keep it if it is among the oldest."""
        self.seen_bytes += file.size_bytes
        if file.kind is FileKind.CHUNK:
            self._add_chunk(file)
        elif file.kind is FileKind.TEMPORARY:
            if file.used_at < self._orphaned_before and file.path not in self._avoided:
                self._orphans.add(file.used_at, file)
        else:
            self.foreign += 1
            if len(self.named_foreign) < _NAMED:
                self.named_foreign.append(printable(file.path))

    def _add_chunk(self, file: PoolFile) -> None:
        used_at = file.used_at
        self.files += 1
        self.size_bytes += file.size_bytes
        self._read += file.read_at > file.written_at + _READ_LATER_SECONDS
        tally = self._tallies.get(file.identity)
        if tally is None:
            tally = self._tallies[file.identity] = _Tally()
        tally.files += 1
        tally.size_bytes += file.size_bytes
        if tally.last_used_at is None or used_at > tally.last_used_at:
            tally.last_used_at = used_at
        if used_at < self._used_before and file.path not in self._avoided and file.identity not in self._avoided:
            self._oldest.add(used_at, file)
            if self._of_identity and file.identity in self._of_identity:
                self._of_identity[file.identity].add(used_at, file)

    @property
    def order(self) -> Order:
        """By what files are old here: by reading, if any shows that the mount keeps when it was read."""
        return Order.READ if self._read else Order.WRITTEN

    def plan(self, room: PoolRoom, marks: Marks, ahead_bytes: float = 0.0) -> Plan:
        """What is to go; nothing but orphans while the pool is as empty as it is to be.

        Args:
            ahead_bytes: as in `Marks.begin_at`.
        """
        orphans = tuple(self._orphans.files())
        freed = sum(file.size_bytes for file in orphans)
        needed = marks.to_free(room, ahead_bytes) - freed
        chosen: dict[str, PoolFile] = {}
        most = self._limits.most_files - len(orphans)
        for identity, excess in self._excesses(room.capacity_bytes):
            needed -= _take(self._of_identity[identity].files(), min(excess, needed), chosen, most)
        needed -= _take(self._oldest.files(), needed, chosen, most)
        size = sum(file.size_bytes for file in chosen.values())
        return Plan(tuple(chosen.values()), orphans, size + freed, needed <= 0)

    def _excesses(self, capacity_bytes: float) -> list[tuple[str, int]]:
        """Identities above their share and by how much, the most first."""
        found = [
            (identity, tally.size_bytes - int(share * capacity_bytes))
            for identity, share in self._limits.shares.items()
            if (tally := self._tallies.get(identity)) is not None and tally.size_bytes > share * capacity_bytes
        ]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def parts(self, gone: Iterable[PoolFile]) -> tuple[IdentityPart, ...]:
        """By identity, the largest first; with what went of each."""
        files: dict[str, int] = {}
        sizes: dict[str, int] = {}
        for file in gone:
            if file.kind is FileKind.CHUNK:
                files[file.identity] = files.get(file.identity, 0) + 1
                sizes[file.identity] = sizes.get(file.identity, 0) + file.size_bytes
        found = [
            IdentityPart(
                printable(identity), one.files, one.size_bytes, one.last_used_at, files.get(identity, 0),
                sizes.get(identity, 0),
            )
            for identity, one in self._tallies.items()
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda part: (-part.size_bytes, part.identity)))


def _take(files: Iterable[PoolFile], needed: int, chosen: dict[str, PoolFile], most: int) -> int:
    """Choose in this order until enough is chosen; returns the bytes."""
    taken = 0
    for file in files:
        if taken >= needed or len(chosen) >= most:
            break
        if file.path not in chosen:
            chosen[file.path] = file
            taken += file.size_bytes
    return taken
