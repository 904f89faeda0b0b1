"""The store's face towards pools: their newest readings, their history, their workers and mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from db.database import Database
from db.member_rows import read_members
from db.pool_reads import read_pool_now, read_pool_series
from db.query import Query
from db.records import PoolNow
from tierdeck.l2.members import KnownMember
from tierdeck.resolution import Resolution

if TYPE_CHECKING:
    import pandas as pd


class PoolStore:
    """The part of `Store` about pools."""

    _database: Database

    def pool_now(self, cluster: str | None = None) -> list[PoolNow]:
        """The newest reading of each pool."""
        with self._database.read() as connection:
            return read_pool_now(connection, cluster)

    def pool_members(self, cluster: str | None = None) -> list[KnownMember]:
        """Workers and mounts of each pool as they were last, those that did not answer too.

        `tierdeck.l2.mounts.health_on` says from it whether the mounts on a node work.
        """
        with self._database.read() as connection:
            return read_members(connection, cluster)

    def pool_series(
        self, start_at: float, end_at: float, resolution: Resolution, cluster: str | None = None
    ) -> pd.DataFrame:
        """Pools over time: at (UTC), cluster, endpoint, pool, capacity_bytes, available_bytes, used_bytes, live, lost,
        blacklisted, decommissioned, files, blocks, data_dirs, read_bytes, written_bytes, failed_requests (the last
        three grow from when the pool was first seen), reason. NaN: not told.
        """
        with self._database.read() as connection:
            return read_pool_series(connection, Query(start_at, end_at, resolution, cluster))
