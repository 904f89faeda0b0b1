"""A mounted pool: walked without following links or leaving it, and deleted from one file at a time.

No directory is ever removed: LMCache makes its own once, at its start, and every write of a process fails whose
directory is gone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tierdeck.errors import UnreachableError
from tierdeck.l2.pool_file import ROOT, Deletion, FileKind, PoolFile, PoolRoom, kind_of, printable

_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Of the machine, whatever container asks."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 8
"""Directories lie no deeper; a deeper one is nothing of LMCache's."""


class MountedDirectory:
    """A `PoolDirectory` on a mount.

    Args:
        capacity_bytes: what the files may take together; their sizes add up to what is used then. 0: the file system
            tells both, which is the whole pool's.
    """

    def __init__(self, path: Path, capacity_bytes: int = 0) -> None:
        self._path = path
        self._capacity_bytes = capacity_bytes
        self._device: int | None = None

    def place(self) -> str:
        with self._telling("looked at"):
            told = os.stat(self._path)
            machine = _BOOT.read_text("utf-8").strip()
        return f"{machine}/{told.st_dev}/{told.st_ino}"

    def files(self) -> Iterator[PoolFile]:
        with self._telling("walked"), self._root() as root:
            self._device = os.fstat(root).st_dev
            yield from _walk(root, ROOT, self._device, 0)

    def room(self) -> PoolRoom:
        if self._capacity_bytes:
            with self._telling("asked for its room"), self._root() as root:  # `_device` stays that of the walk
                found = _walk(root, ROOT, os.fstat(root).st_dev, 0)
                used = sum(file.size_bytes for file in found if file.kind is not FileKind.FOREIGN)
            return PoolRoom(self._capacity_bytes, used)
        with self._telling("asked for its room"):
            told = os.statvfs(self._path)
        if not told.f_blocks:
            raise UnreachableError(f"{self._path} does not tell its capacity", "Set TIERDECK_JANITOR_CAPACITY_BYTES.")
        return PoolRoom(told.f_blocks * told.f_frsize, (told.f_blocks - told.f_bfree) * told.f_frsize)

    def delete(self, file: PoolFile) -> Deletion:
        with self._telling(f"rid of {printable(file.path)}"):
            try:
                with self._root() as root, self._folder(root, file.identity) as folder:
                    return _delete(folder, file)
            except FileNotFoundError:
                return Deletion.MISSING

    @contextmanager
    def _root(self) -> Iterator[int]:
        """Opened each time, since a mount that went and came back is another."""
        number = os.open(self._path, _FOLDER)
        try:
            yield number
        finally:
            os.close(number)

    @contextmanager
    def _folder(self, root: int, identity: str) -> Iterator[int]:
        """An identity's directory; no part of it may be a link, or on another device than what was walked."""
        if ".." in identity.split("/") or identity.startswith("/"):
            raise ValueError(f"{identity!r} is no directory below the pool")
        opened: list[int] = []
        try:
            here = root
            for part in () if identity == ROOT else identity.split("/"):
                here = os.open(part, _FOLDER, dir_fd=here)
                opened.append(here)
            if self._device is not None and os.fstat(here).st_dev != self._device:
                raise UnreachableError(f"{self._path} is another file system by now", "Look at what is mounted there.")
            yield here
        finally:
            for number in opened:
                os.close(number)

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            hint = "Is the pool mounted, and may this process write there?"
            raise UnreachableError(f"{self._path} can't be {what}: {error.strerror}", hint) from error


def _walk(folder: int, identity: str, device: int, depth: int) -> Iterator[PoolFile]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # deleted or renamed just now
                continue
            if stat.S_ISREG(found.st_mode):
                times = found.st_mtime, found.st_atime
                yield PoolFile(identity, entry.name, found.st_size, *times, kind_of(entry.name))
            elif stat.S_ISDIR(found.st_mode) and found.st_dev == device and depth < _DEEPEST:
                below = entry.name if identity == ROOT else f"{identity}/{entry.name}"
                yield from _below(folder, entry.name, below, device, depth + 1)
            else:
                times = found.st_mtime, found.st_atime
                yield PoolFile(identity, entry.name, found.st_size, *times, FileKind.FOREIGN)


def _below(parent: int, name: str, identity: str, device: int, depth: int) -> Iterator[PoolFile]:
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        return
    try:
        yield from _walk(folder, identity, device, depth)
    finally:
        os.close(folder)


def _delete(folder: int, file: PoolFile) -> Deletion:
    now = os.stat(file.name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(now.st_mode) or (now.st_mtime, now.st_atime) != (file.written_at, file.read_at):
        return Deletion.USED_AGAIN
    os.unlink(file.name, dir_fd=folder)
    return Deletion.DELETED
