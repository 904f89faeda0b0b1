"""L1 and L2: chunks of KV, found by prefix, with room in bytes.

Within one prompt the front counts as used last, so that tails go first; a front without its tail is
still worth something, a tail without its front nothing.
Source: LMCache touches the keys of a request from the last to the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store did, in chunks; `refused` found no room in a cache that evicts nothing."""

    written: int = 0
    evicted: int = 0
    refused: int = 0


class ChunkCache:
    """Chunks by id, least recently used first."""

    def __init__(
        self, capacity_bytes: int, *, evicting: bool = True, on_evicted: Callable[[int], None] | None = None
    ) -> None:
        """
        Args:
            evicting: make room by dropping the least recently used; else refuse what does not fit.
            on_evicted: told every id that is dropped to make room.
        """
        if capacity_bytes < 0:
            raise ValueError("a capacity can't be negative")
        self.capacity_bytes = capacity_bytes
        self.evicting = evicting
        self.used_bytes = 0
        self._on_evicted = on_evicted
        self._sizes: OrderedDict[int, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sizes)

    def __contains__(self, chunk: int) -> bool:
        return chunk in self._sizes

    def __iter__(self) -> Iterator[int]:
        return iter(self._sizes)

    def match(self, chunks: Sequence[int], start: int = 0) -> int:
        """How many chunks in a row are here, from index `start` on."""
        sizes, position = self._sizes, start
        while position < len(chunks) and chunks[position] in sizes:
            position += 1
        return position - start

    def touch(self, chunks: Sequence[int]) -> None:
        """Count chunks as used now."""
        for chunk in reversed(chunks):
            if chunk in self._sizes:
                self._sizes.move_to_end(chunk)

    def store(self, chunks: Sequence[int], chunk_bytes: int) -> Stored:
        """Take in what is not here yet: the front of a prompt where not all of it can fit."""
        new = [chunk for chunk in chunks if chunk not in self._sizes]
        room = self.capacity_bytes if self.evicting else self.capacity_bytes - self.used_bytes
        taken = new[: max(0, room // chunk_bytes)]
        evicted = self._make_room(len(taken) * chunk_bytes)
        for chunk in reversed(taken):
            self._sizes[chunk] = chunk_bytes
        self.used_bytes += len(taken) * chunk_bytes
        return Stored(len(taken), evicted, len(new) - len(taken))

    def resize(self, capacity_bytes: int) -> int:
        """Change the room; returns how many chunks had to go."""
        self.capacity_bytes = capacity_bytes
        return self._make_room(0)

    def discard(self, chunks: Sequence[int]) -> None:
        """Forget chunks, without telling anybody."""
        for chunk in chunks:
            self.used_bytes -= self._sizes.pop(chunk, 0)

    def unlink(self, chunk: int) -> int:
        """Forget a chunk whose room is not free before `free` says so; returns its bytes, 0 where it is not here."""
        return self._sizes.pop(chunk, 0)

    def free(self, size_bytes: int) -> None:
        """The room of what was unlinked is free now."""
        self.used_bytes -= size_bytes

    def evict(self, chunks: int) -> int:
        """Drop up to so many of the least recently used."""
        count = min(chunks, len(self._sizes))
        for _ in range(count):
            self._drop_oldest()
        return count

    def _make_room(self, needed_bytes: int) -> int:
        evicted = 0
        while self._sizes and self.used_bytes + needed_bytes > self.capacity_bytes:
            self._drop_oldest()
            evicted += 1
        return evicted

    def _drop_oldest(self) -> None:
        chunk, size = self._sizes.popitem(last=False)
        self.used_bytes -= size
        if self._on_evicted is not None:
            self._on_evicted(chunk)
