"""A pool's directory as the janitor needs it: files that are LMCache's or are not, room, and one way to delete.

Source of the names: LMCache 0.5.6, `fs_connector.py` (inside vLLM: `model@world@worker@hash@dtype…`) and
`fs_l2_adapter.py`, which `fs_native` follows (cache server: `model@rank@group@hash`, then `@salt` if there is one).
Both end in `.data`, and are written as the same name in `.tmp`, or in a folder for temporary files, and renamed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

ROOT = "."
"""The identity of files that lie in the pool's root itself."""
_LEAST_PARTS = 4
_HASH = re.compile(r"-?(0x)?[0-9a-f]{6,}")


class FileKind(StrEnum):
    """What lies there."""

    CHUNK = "chunk"
    TEMPORARY = "temporary"
    FOREIGN = "foreign"


def printable(text: str) -> str:
    """A name as it can be kept and shown: what is no UTF-8, or would steer a terminal, is written out."""
    plain = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in plain)


def kind_of(name: str) -> FileKind:
    """Of a regular file, by its name."""
    stem, _, ending = name.rpartition(".")
    kind = {"data": FileKind.CHUNK, "tmp": FileKind.TEMPORARY}.get(ending)
    parts = stem.split("@")
    is_key = len(parts) >= _LEAST_PARTS and any(_HASH.fullmatch(part) for part in parts[2:])
    return kind if kind is not None and is_key else FileKind.FOREIGN


@dataclass(frozen=True, slots=True)
class PoolFile:
    """One file.

    Attributes:
        identity: its directory below the root, `ROOT` for the root itself.
        read_at: as the mount tells it, whether it keeps that or not.
    """

    identity: str
    name: str
    size_bytes: int
    written_at: float
    read_at: float
    kind: FileKind = FileKind.CHUNK

    @property
    def used_at(self) -> float:
        """When it was read or written last. Where no time of reading is kept, it is that of writing."""
        return max(self.read_at, self.written_at)

    @property
    def path(self) -> str:
        """Below the pool's root."""
        return self.name if self.identity == ROOT else f"{self.identity}/{self.name}"


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """What the pool holds, and may hold."""

    capacity_bytes: float
    used_bytes: float

    def __post_init__(self) -> None:
        if self.capacity_bytes <= 0 or self.used_bytes < 0:
            raise ValueError("a pool has room for something, and holds nothing or more")

    @property
    def available_bytes(self) -> float:
        return max(0.0, self.capacity_bytes - self.used_bytes)

    @property
    def used_ratio(self) -> float:
        """May exceed 1 where the capacity is one that was set."""
        return self.used_bytes / self.capacity_bytes


class Deletion(StrEnum):
    """What became of a file that was to go."""

    DELETED = "deleted"
    USED_AGAIN = "used again"
    """It was read or written since it was chosen, and stays."""
    MISSING = "missing"
    """It was gone already."""


class PoolDirectory(Protocol):
    """A pool's files."""

    def place(self) -> str:
        """What tells this directory from any other, whatever it is called; empty: nothing does.

        Raises:
            TierdeckError: it is not there.
        """
        ...

    def files(self) -> Iterator[PoolFile]:
        """Each once, in any order; one that comes or goes meanwhile may be there or not.

        Raises:
            TierdeckError: the directory can't be read to its end.
        """
        ...

    def room(self) -> PoolRoom:
        """As of now.

        Raises:
            TierdeckError: it can't be told.
        """
        ...

    def delete(self, file: PoolFile) -> Deletion:
        """Delete one file, unless it is another by now than it was when it was found.

        Raises:
            TierdeckError: it is there, and can't be deleted.
        """
        ...
