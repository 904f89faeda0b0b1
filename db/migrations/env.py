"""Alembic's environment: migrates over the connection that `db.upgrade` hands it."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from db.schema import metadata


def _run(connection: Connection) -> None:
    """The caller's transaction holds all revisions; it also holds the lock."""
    context.configure(connection=connection, target_metadata=metadata)
    context.run_migrations()


_run(context.config.attributes["connection"])
