"""The schema's version: checked on every opening, brought up to date under a lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from db.database import Database
from db.schema import REVISIONS
from tierdeck.errors import StoreVersionError, UnreachableError

_VERSION_TABLE = "alembic_version"
_LOCK = 7410213
"""PostgreSQL's advisory lock for migrations; SQLite's write lock does it there."""
_UPGRADE = "Run `python -m db upgrade`."
_MISSING = "`tierdeck up` makes it when it starts; `python -m db upgrade` makes an empty one."


def current_revision(connection: Connection) -> str | None:
    """The store's revision; None: an empty store."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608
    return found


def check_version(database: Database, revisions: Sequence[str] = REVISIONS) -> None:
    """Refuse a store whose schema is not this code's.

    Args:
        revisions: those that this code knows, oldest first.

    Raises:
        StoreVersionError: it is empty, older or newer.
        UnreachableError: there is none.
    """
    if database.path is not None and not database.path.exists():
        raise UnreachableError(f"there is no store at {database.shown} yet", _MISSING)
    with database.read() as connection:
        found = current_revision(connection)
    if found is None:
        raise StoreVersionError(f"the store {database.shown} is empty", _UPGRADE)
    if found != revisions[-1]:
        _refuse_newer(found, database, revisions)
        raise StoreVersionError(f"the store {database.shown} is at {found}, this Tierdeck at {revisions[-1]}", _UPGRADE)


def upgrade(database: Database) -> None:
    """Bring an empty or older store up to date; of several that try at once, one does it and the others wait.

    Raises:
        StoreVersionError: the store is newer.
        UnreachableError: the file's folder can't be made.
    """
    if database.path is not None:
        try:
            database.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreachableError(
                f"the folder of the store {database.shown} can't be made: {error.strerror}"
            ) from error
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        found = current_revision(connection)
        if found == REVISIONS[-1]:
            return
        if found is not None:
            _refuse_newer(found, database, REVISIONS)
        _migrate(connection)


def _refuse_newer(found: str, database: Database, revisions: Sequence[str]) -> None:
    if found not in revisions:
        message = f"the store {database.shown} was made by a newer Tierdeck (at {found}, this one at {revisions[-1]})"
        raise StoreVersionError(message, "Upgrade Tierdeck, or use another store.")


def _migrate(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415  # only who upgrades pays for its import
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
