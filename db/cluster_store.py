"""The store's face towards what clusters tell: sightings, events, and what is deployed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from db.database import Database
from db.event_rows import Wanted, read_events
from db.records import BlindPart, Sighted
from db.sightings import Happened, read_blind, read_deployed, read_nodes, read_sighted, sight, tell
from tierdeck.deployed import Deployed, Node, Sighting
from tierdeck.events import Event, EventKind

if TYPE_CHECKING:
    import pandas as pd


class ClusterStore:
    """The part of `Store` about clusters."""

    _database: Database

    def sight(self, seen: Sighting, happened: Happened) -> int | None:
        """Remember what was seen, and write what happened since the last time, all or nothing.

        Two who see the same cluster take turns; an event whose key is known already is not written again.
        A sighting that a newer one has overtaken (by less than ten minutes) changes nothing; by more, the clock that
        wrote the newer one was ahead.

        Args:
            happened: called once or not at all, with what is remembered and `seen`.

        Returns:
            How many events were new; None where the sighting was overtaken.
        """
        with self._database.write() as connection:
            return sight(connection, seen, happened)

    def tell(self, cluster: str, happened: Sequence[Event], seen_at: float) -> int:
        """Events that no sighting sees; one whose key is known already is not written again; how many were new."""
        try:
            return self._tell(cluster, happened, seen_at)
        except IntegrityError:  # another process told the same just now
            return self._tell(cluster, happened, seen_at)

    def _tell(self, cluster: str, happened: Sequence[Event], seen_at: float) -> int:
        with self._database.write() as connection:
            return tell(connection, cluster, happened, seen_at)

    def deployed(self, cluster: str | None = None) -> list[Deployed]:
        """Endpoints and pools as they were seen last, by name."""
        with self._database.read() as connection:
            return read_deployed(connection, cluster)

    def nodes(self, cluster: str | None = None) -> list[Node]:
        """Nodes as they were seen last, by name."""
        with self._database.read() as connection:
            return read_nodes(connection, cluster)

    def blind(self, cluster: str | None = None) -> list[BlindPart]:
        """What could not be seen the last time."""
        with self._database.read() as connection:
            return read_blind(connection, cluster)

    def sighted(self, cluster: str | None = None) -> list[Sighted]:
        """When each cluster was seen last; empty: none ever was."""
        with self._database.read() as connection:
            return read_sighted(connection, cluster)

    def events(
        self,
        start_at: float,
        end_at: float,
        cluster: str | None = None,
        endpoint: str | Collection[str] | None = None,
        *,
        kinds: Collection[EventKind] | None = None,
        limit: int = 500,
    ) -> pd.DataFrame:
        """What happened in (start_at, end_at], the newest first.

        Columns: at (UTC), cluster, endpoint (`_pool`: a pool's; "": the cluster's), replica, kind, subject, words,
        detail (a dict of strings).

        Args:
            endpoint: one of them, or several.
        """
        owners = [endpoint] if isinstance(endpoint, str) else endpoint
        wanted = Wanted(start_at, end_at, cluster, owners, kinds, limit)
        with self._database.read() as connection:
            return read_events(connection, wanted)
