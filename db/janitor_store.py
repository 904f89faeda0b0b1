"""The store's face towards the janitor: its rounds, and what happened in them."""

from __future__ import annotations

from collections.abc import Sequence

from db.database import Database
from db.event_rows import write_events
from db.janitor_rows import read_pools, read_runs, write_run
from tierdeck.events import Event
from tierdeck.l2.janitor_runs import JanitorRun


class JanitorStore:
    """The part of `Store` about the janitor."""

    _database: Database

    def save_janitor_run(self, run: JanitorRun, events: Sequence[Event] = (), *, at: float) -> JanitorRun:
        """Write a round, or write it anew where it has an id, and what happened in it, all or nothing; with its id."""
        with self._database.write() as connection:
            write_events(connection, events, at)
            return write_run(connection, run)

    def janitor_runs(self, cluster: str | None = None, pool: str | None = None, *, limit: int = 20) -> list[JanitorRun]:
        """The newest first; one that was cut off stays as it was written last, with `ended_at` None."""
        with self._database.read() as connection:
            return read_runs(connection, cluster, pool, limit)

    def janitor_pools(self, cluster: str) -> list[str]:
        """What janitors of a cluster call their pools, in order; only the names of kept rounds."""
        with self._database.read() as connection:
            return read_pools(connection, cluster)
