"""One replica's FUSE mount of the pool: what its client did, for its own page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Mount:
    """Counts of one FUSE client."""

    started_at: float
    looked_up: int = 0
    not_there: int = 0
    read_chunks: int = 0
    read_bytes: int = 0
    written_chunks: int = 0
    written_bytes: int = 0
    failed_writes: int = 0
    failed_reads: int = 0
    stuck: int = 0
    stuck_since: float | None = None

    def found(self, asked: int, found: int) -> None:
        """Looked up files by name; the first that is missing ends a lookup."""
        self.looked_up += found
        self.not_there += int(asked > found)

    def read(self, chunks: int, size_bytes: int) -> None:
        self.read_chunks += chunks
        self.read_bytes += size_bytes

    def wrote(self, chunks: int, size_bytes: int) -> None:
        self.written_chunks += chunks
        self.written_bytes += size_bytes

    def hang(self, at: float) -> None:
        """From now on nothing is answered."""
        if self.stuck_since is None:
            self.stuck_since = at

    def recover(self) -> None:
        self.stuck, self.stuck_since = 0, None
