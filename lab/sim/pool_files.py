"""The simulated pool as a directory of files, with the times that a mount would tell: what a janitor can act on.

Names are those that LMCache's server writes. A file that is deleted is gone at once, and its block later: Curvine's
master tells its workers with their heartbeats.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.sim.pool import Pool
from lab.sim.timeline import Timeline
from tierdeck.l2.pool_file import Deletion, PoolFile, PoolRoom

FREED_SECONDS = 6.0
"""Two heartbeats of a worker. Source: Curvine's heartbeat of 3 s, which carries the blocks to delete."""


class PoolFiles:
    """A `PoolDirectory`.

    Args:
        keeps_read_times: whether the mount tells when a file was read; Curvine's own may not.
    """

    def __init__(self, pool: Pool, timeline: Timeline, *, keeps_read_times: bool = True) -> None:
        self._pool = pool
        self._timeline = timeline
        self._keeps_read_times = keeps_read_times

    def place(self) -> str:
        return ""

    def files(self) -> Iterator[PoolFile]:
        for chunk, kept in self._pool.kept():
            read_at = kept.read_at if self._keeps_read_times else kept.written_at
            name = f"{kept.owner.replace('/', '-SEP-')}@0x01000100@0@{chunk:016x}.data"
            yield PoolFile(kept.owner or ".", name, kept.size_bytes, kept.written_at, read_at)

    def room(self) -> PoolRoom:
        live = self._pool.live
        used = sum(worker.used_bytes + worker.foreign_bytes for worker in live)
        return PoolRoom(self._pool.capacity_bytes, used)

    def delete(self, file: PoolFile) -> Deletion:
        chunk = int(file.name.removesuffix(".data").rpartition("@")[2], 16)
        kept = self._pool.find(chunk)
        if kept is None:
            return Deletion.MISSING
        if kept.written_at != file.written_at or (self._keeps_read_times and kept.read_at != file.read_at):
            return Deletion.USED_AGAIN
        free = self._pool.unlink(chunk)
        if free is not None:
            self._timeline.after(FREED_SECONDS * self._timeline.speed, free)
        return Deletion.DELETED
