"""What a janitor acts on, a mounted directory or the lab's pool, keeps the same contract."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path

import pytest

from controller.janitor.directory import MountedDirectory
from lab.sim.pool import Pool
from lab.sim.pool_files import FREED_SECONDS, PoolFiles
from lab.sim.timeline import Timeline
from tests.support.pool_folders import KILO, chunk_name, put
from tierdeck.l2.pool_file import Deletion, FileKind, PoolDirectory, PoolFile

AT = 1_700_000_000.0
CAPACITY = 10 * KILO


class Made(ABC):
    """A pool of ten chunks' room, with ways to use it as engines do."""

    directory: PoolDirectory

    @abstractmethod
    def write(self, number: int, after_seconds: float) -> None:
        """Chunk `number` of the model `qwen`."""

    @abstractmethod
    def read(self, number: int, after_seconds: float) -> None: ...

    @abstractmethod
    def wait(self) -> None:
        """Until blocks of what was deleted are free."""


class Mounted(Made):
    def __init__(self, path: Path) -> None:
        self._path = path
        self.directory = MountedDirectory(path, CAPACITY)

    def write(self, number: int, after_seconds: float) -> None:
        put(self._path / "qwen", chunk_name(number), AT + after_seconds)

    def read(self, number: int, after_seconds: float) -> None:
        path = self._path / "qwen" / chunk_name(number)
        os.utime(path, (AT + after_seconds, path.stat().st_mtime))

    def wait(self) -> None:
        pass


class Simulated(Made):
    def __init__(self, path: Path) -> None:
        self._timeline = Timeline(AT)
        self._pool = Pool((CAPACITY // 2,) * 2, AT, evicting=False, clock=self._timeline.wall)
        self.directory = PoolFiles(self._pool, self._timeline)

    def write(self, number: int, after_seconds: float) -> None:
        self._timeline.run_until(after_seconds)
        assert self._pool.write([number], KILO, "qwen") == 1

    def read(self, number: int, after_seconds: float) -> None:
        self._timeline.run_until(after_seconds)
        assert self._pool.read([number]) == KILO

    def wait(self) -> None:
        self._timeline.run_until(self._timeline.now + FREED_SECONDS)


@pytest.fixture(params=[Mounted, Simulated])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    one: Made = request.param(tmp_path)
    return one


def by_age(made: Made) -> list[PoolFile]:
    return sorted(made.directory.files(), key=lambda file: file.used_at)


def test_files_tell_whose_they_are_their_size_and_their_times(made: Made) -> None:
    made.write(1, 10.0)
    made.write(2, 20.0)
    made.read(1, 100.0)
    second, first = by_age(made)
    assert [(file.identity, file.kind, file.size_bytes) for file in (first, second)] == [
        ("qwen", FileKind.CHUNK, KILO)
    ] * 2
    assert (first.written_at, first.used_at, second.used_at) == (AT + 10.0, AT + 100.0, AT + 20.0)
    assert len({file.path for file in (first, second)}) == 2


def test_room_is_capacity_and_what_is_used_of_it(made: Made) -> None:
    for number in range(3):
        made.write(number, float(number))
    room = made.directory.room()
    assert (room.capacity_bytes, room.used_bytes, room.available_bytes) == (CAPACITY, 3 * KILO, 7 * KILO)


def test_what_is_deleted_is_gone_and_its_room_is_there_some_time_later(made: Made) -> None:
    made.write(1, 10.0)
    made.write(2, 20.0)
    oldest, other = by_age(made)
    assert made.directory.delete(oldest) is Deletion.DELETED
    assert by_age(made) == [other]
    made.wait()
    assert made.directory.room().used_bytes == KILO
    assert made.directory.delete(oldest) is Deletion.MISSING


def test_what_was_used_since_it_was_found_stays(made: Made) -> None:
    made.write(1, 10.0)
    (file,) = by_age(made)
    made.read(1, 50.0)
    assert made.directory.delete(file) is Deletion.USED_AGAIN
    (now,) = by_age(made)
    assert made.directory.delete(now) is Deletion.DELETED


def test_what_was_deleted_and_written_again_is_another_file(made: Made) -> None:
    made.write(1, 10.0)
    (file,) = by_age(made)
    assert made.directory.delete(file) is Deletion.DELETED
    made.write(1, 60.0)
    assert made.directory.delete(file) is Deletion.USED_AGAIN
    made.wait()
    assert made.directory.room().used_bytes == KILO
