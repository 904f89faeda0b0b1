"""FUSE mounts of pools, as their clients' last pages tell them."""

from __future__ import annotations

from sqlalchemy import Connection, and_, select

from db.schema import mounts, scrapes, targets
from tierdeck.fleet import POOL, SourceKind
from tierdeck.l2.mounts import Mount, MountReading

_KEY = ("cluster", "endpoint", "replica", "name")


def read_mounts(connection: Connection, cluster: str) -> list[Mount]:
    """Every FUSE client that is declared, by pool and name."""
    pages = and_(*(targets.c[name] == mounts.c[name] for name in _KEY))
    tries = and_(*(targets.c[name] == scrapes.c[name] for name in _KEY))
    told = (mounts.c[name] for name in ("at", "active", "queued", "progress_at", "requests", "moved_at"))
    statement = (
        select(targets.c.replica, targets.c.name, scrapes.c.reason, *told)
        .join_from(targets, mounts, pages, isouter=True)
        .join(scrapes, tries, isouter=True)
        .where(targets.c.cluster == cluster, targets.c.endpoint == POOL)
        .where(targets.c.name.startswith(SourceKind.CURVINE_FUSE.value))
        .order_by(targets.c.replica, targets.c.name)
    )
    return [
        Mount(
            pool,
            name,
            MountReading(name, at, active, queued, progress_at, requests) if at is not None else None,
            moved_at or 0.0,
            reason or "",
        )
        for pool, name, reason, at, active, queued, progress_at, requests, moved_at in connection.execute(statement)
    ]
