"""The shared L2: chunks on the NVMe of several workers, in one namespace, as Curvine keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tierdeck.sizing.chunks import ChunkCache


@dataclass(slots=True)
class Worker:
    """One node's share of the pool."""

    number: int
    capacity_bytes: int
    started_at: float
    alive: bool = True
    used_bytes: int = 0
    foreign_bytes: int = 0
    blocks: int = 0
    written_bytes: int = 0
    read_bytes: int = 0
    blocks_written: int = 0
    blocks_read: int = 0

    @property
    def available_bytes(self) -> int:
        return max(0, self.capacity_bytes - self.used_bytes - self.foreign_bytes)

    @property
    def id(self) -> int:
        """A stable number as Curvine gives them."""
        return 918_273_645 + 7_919 * self.number


@dataclass(slots=True)
class Kept:
    """A chunk as a file: where it lies, whose it is, and when it was used (epoch seconds)."""

    worker: Worker
    size_bytes: int
    owner: str
    written_at: float
    read_at: float


@dataclass(slots=True)
class PoolSwitches:
    """What faults change.

    Attributes:
        readable: False: chunks are listed, and reading them fails.
        hung: no file operation comes back.
        found: False: no lookup finds what is there.
        writes: "ok", "lost" (they end without anything written), or "full" (they fail with EIO).
    """

    readable: bool = True
    hung: bool = False
    found: bool = True
    writes: str = "ok"


class Pool:
    """Chunks by id, each on one live worker."""

    def __init__(
        self,
        worker_bytes: Sequence[int],
        started_at: float,
        *,
        evicting: bool = True,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """
        Args:
            clock: epoch seconds of the present.
            evicting: something outside removes the least recently used chunks (LMCache's eviction on a
                directory); Curvine by itself removes nothing.
        """
        self.workers = [Worker(number, size, started_at) for number, size in enumerate(worker_bytes)]
        self.chunks = ChunkCache(sum(worker_bytes), evicting=evicting, on_evicted=self._evicted)
        self.switches = PoolSwitches()
        self.evicted_chunks = 0
        self.refused_chunks = 0
        self.failed_reads = 0
        self._clock = clock
        self._homes: dict[int, Kept] = {}

    @property
    def live(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.alive]

    @property
    def capacity_bytes(self) -> int:
        return sum(worker.capacity_bytes for worker in self.live)

    def kept(self) -> Iterator[tuple[int, Kept]]:
        """Every chunk by its id."""
        return iter(tuple(self._homes.items()))

    def find(self, chunk: int) -> Kept | None:
        """None: it is not here."""
        return self._homes.get(chunk)

    def write(self, chunks: Sequence[int], chunk_bytes: int, owner: str = "") -> int:
        """Store what is not here yet; returns how many of the chunks are here afterwards.

        Args:
            owner: whose directory they are in; files of a prompt are written one after the other, from its front.
        """
        if self.switches.writes != "ok" or not self.live:
            self.refused_chunks += len(chunks)
            return 0
        new = [chunk for chunk in chunks if chunk not in self.chunks]
        stored = self.chunks.store(chunks, chunk_bytes)
        self.refused_chunks += stored.refused
        live, now = self.live, self._clock()
        for number, chunk in enumerate(new[: stored.written]):
            worker = min(live, key=_fullness)
            at = now + number * _APART_SECONDS
            self._homes[chunk] = Kept(worker, chunk_bytes, owner, at, at)
            worker.used_bytes += chunk_bytes
            worker.written_bytes += chunk_bytes
            worker.blocks += 1
            worker.blocks_written += 1
        return len(chunks) - stored.refused

    def read(self, chunks: Sequence[int]) -> int:
        """Count a read; returns the bytes."""
        total, now = 0, self._clock()
        for number, chunk in enumerate(chunks):
            home = self._homes.get(chunk)
            if home is not None:
                home.read_at = now + number * _APART_SECONDS
                home.worker.read_bytes += home.size_bytes
                home.worker.blocks_read += 1
                total += home.size_bytes
        return total

    def lose(self, number: int) -> None:
        """A worker goes, and with it what it held."""
        worker = self.workers[number]
        worker.alive = False
        gone = [chunk for chunk, home in self._homes.items() if home.worker is worker]
        for chunk in gone:
            self._forget(chunk)
        self.chunks.discard(gone)
        self.chunks.resize(self.capacity_bytes)

    def return_worker(self, number: int, at: float) -> None:
        """It comes back, empty."""
        old = self.workers[number]
        if not old.alive:
            self.workers[number] = Worker(number, old.capacity_bytes, at)
            self.chunks.resize(self.capacity_bytes)

    def fill(self) -> None:
        """Let other files take all that is free."""
        for worker in self.workers:
            worker.foreign_bytes = max(0, worker.capacity_bytes - worker.used_bytes)

    def free(self) -> None:
        """Take them away again."""
        for worker in self.workers:
            worker.foreign_bytes = 0

    def remove(self, chunks: Sequence[int]) -> int:
        """Delete chunks, as an eviction does; returns how many were there."""
        here = [chunk for chunk in chunks if chunk in self.chunks]
        self.chunks.discard(here)
        for chunk in here:
            self._evicted(chunk)
        return len(here)

    def unlink(self, chunk: int) -> Callable[[], None] | None:
        """Delete a chunk's file: nobody finds it any more; what is returned frees its block. None: it is not here."""
        home = self._homes.pop(chunk, None)
        if home is None:
            return None
        size = self.chunks.unlink(chunk)

        def free() -> None:
            self.chunks.free(size)
            home.worker.used_bytes -= home.size_bytes
            home.worker.blocks -= 1

        return free

    def resize(self, size_bytes: int) -> None:
        """Give every worker an equal share of a new size, to the byte; what no longer fits goes."""
        share, rest = divmod(size_bytes, len(self.workers))
        for index, worker in enumerate(self.workers):
            worker.capacity_bytes = share + (index < rest)
        self.chunks.resize(self.capacity_bytes)

    def _evicted(self, chunk: int) -> None:
        self.evicted_chunks += 1
        self._forget(chunk)

    def _forget(self, chunk: int) -> None:
        home = self._homes.pop(chunk)
        home.worker.used_bytes -= home.size_bytes
        home.worker.blocks -= 1


_APART_SECONDS = 0.001


def _fullness(worker: Worker) -> float:
    return worker.used_bytes / worker.capacity_bytes
