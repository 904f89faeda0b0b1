"""A pool whose blocks become free when a test says so, with a writer, in time that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.pool_folders import chunk_name
from tierdeck.errors import UnreachableError
from tierdeck.l2.pool_file import Deletion, PoolFile, PoolRoom

GIB = 2**30
CAPACITY = 1000 * GIB


@dataclass
class LatePool:
    """A `PoolDirectory` of files of one size.

    Attributes:
        late_seconds: from a file's end until its block is free; None: never.
        writes: files a second, by the time since the pool began.
        others_bytes: in use, and none of these files.
        stuck: numbers of files that can't be deleted.
        directory: what tells it from others.
        came: files written since it began.
    """

    clock: Callable[[], float]
    count: int = 86
    late_seconds: float | None = 0.0
    writes: Callable[[float], float] = lambda _: 0.0
    file_bytes: int = 10 * GIB
    others_bytes: int = 0
    stuck: frozenset[int] = frozenset()
    directory: str = ""
    written: float = 0.0
    came: int = 0
    deleted: int = 0
    _files: dict[int, float] = field(default_factory=dict)
    _gone_at: list[float] = field(default_factory=list)
    _grown_at: float = 0.0

    def __post_init__(self) -> None:
        self._began_at = self._grown_at = self.clock()
        self._files = {number: self._began_at - 100_000.0 + number for number in range(self.count)}

    def grow(self) -> None:
        """Write what was written by now; what does not fit is lost, as on Curvine."""
        while self._grown_at + 1.0 <= self.clock():
            self._grown_at += 1.0
            self.written += self.writes(self._grown_at - self._began_at)
            while self.written >= 1.0:
                self.written -= 1.0
                if self.used_bytes + self.file_bytes <= CAPACITY:
                    self._files[self.count] = self._grown_at
                    self.count += 1
                    self.came += 1

    @property
    def left(self) -> int:
        return len(self._files)

    @property
    def used_bytes(self) -> int:
        late, now = self.late_seconds, self._grown_at
        held = sum(1 for at in self._gone_at if late is None or now < at + late)
        return (len(self._files) + held) * self.file_bytes + self.others_bytes

    def place(self) -> str:
        return self.directory

    def files(self) -> Iterator[PoolFile]:
        self.grow()
        for number, at in list(self._files.items()):
            yield PoolFile("qwen", chunk_name(number), self.file_bytes, at, at)

    def room(self) -> PoolRoom:
        self.grow()
        return PoolRoom(CAPACITY, self.used_bytes)

    def delete(self, file: PoolFile) -> Deletion:
        number = int(file.name.split("@")[3], 16)
        if number in self.stuck:
            raise UnreachableError("the file can't be deleted: Permission denied")
        del self._files[number]
        self.deleted += 1
        self._gone_at.append(self.clock())
        return Deletion.DELETED
