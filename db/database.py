"""Connections to SQLite or PostgreSQL: URLs, pragmas, transactions, and third-party errors made ours."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from tierdeck.errors import TierdeckError, UnreachableError, UsageError

BUSY_SECONDS = 10.0
"""How long a SQLite writer waits for another."""
_LIMITS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "30000",  # milliseconds
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
"""Of libpq: a server that went without a word is given up within a minute or so, not after the kernel's 15 or more."""
_HINT = "TIERDECK_DATABASE_URL looks like sqlite:///path/to/tierdeck.db or postgresql://user:password@host/name."
_STANDBY = "The server is a standby, or was made read-only: TIERDECK_DATABASE_URL has to lead to the primary."
_REFUSALS = {
    "0A000": _STANDBY,  # "cannot set transaction read-write mode during recovery"
    "25006": _STANDBY,
    "42501": "Grant it to the store's user.",
    "53": "The server is short of disk, memory or connections.",
    "58": "The server's log says more: its disk or system fails.",
    "XX": "The server's log says more.",
    "SQLITE_READONLY": "This process can't write the file or its folder.",
    "SQLITE_FULL": "The file's disk is full.",
    "SQLITE_IOERR": "The file's disk fails.",
}
"""What to do where a database is there and takes no writes, by the beginning of its code.

Source: PostgreSQL, appendix "PostgreSQL Error Codes" (SQLSTATE; 53: insufficient resources, 58: system error, XX:
internal error); SQLite, "Result and Error Codes".
"""
_PRAGMAS = ("synchronous=NORMAL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-32000")


def parse_url(text: str) -> URL:
    """The store's URL with the driver that we ship.

    Raises:
        UsageError: malformed, another database, or an in-memory one.
    """
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError, NoSuchModuleError):  # their text may hold the password
        raise UsageError("the store's URL can't be read", _HINT) from None
    if backend in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise UsageError(f"a store can't be kept in {backend}", _HINT)
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise UsageError("a store needs a file: processes can't share one in memory", _HINT)
    return url.set(drivername="sqlite")


class Database:
    """An engine with one kind of transaction for reading and one for writing."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.shown = f"{url.database}" if self.is_sqlite else url.set(query={}).render_as_string(hide_password=True)
        self._engine = _sqlite(url) if self.is_sqlite else _postgresql(url)
        self._reader = self._engine if self.is_sqlite else self._engine.execution_options(**_SNAPSHOT)
        self._writer = self._engine.execution_options(tierdeck_write=True)

    @property
    def path(self) -> Path | None:
        """SQLite's file."""
        return Path(self.url.database or "") if self.is_sqlite else None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that sees one moment of the store."""
        with self.converted(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that commits at the end; SQLite's writers queue at its beginning."""
        with self.converted(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def converted(self) -> Iterator[None]:
        """Third-party errors as ours; broken constraints and our own mistakes pass as they are."""
        try:
            yield
        except DatabaseError as error:
            told = self._told(error)
            if told is None:
                raise
            raise told from error
        except InterfaceError as error:
            raise self._away(error) from error
        except PoolTimeoutError as error:
            raise UnreachableError(f"the store {self.shown} has no free connection", "Try again.") from error

    def _told(self, error: DatabaseError) -> TierdeckError | None:
        """The same as an error of ours; None where it is a mistake of ours."""
        refused = _refused(error)
        if refused:
            self._engine.dispose()  # who is connected to a server that became a standby would never find the primary
            return UnreachableError(f"the store {self.shown} takes no writes: {_reason(error)}", refused)
        if isinstance(error, OperationalError):
            return self._away(error)
        if type(error) is DatabaseError:
            return UsageError(f"{self.shown} can't be used as a store: {_reason(error)}", _HINT)
        return None

    def _away(self, error: DatabaseError | InterfaceError) -> UnreachableError:
        hint = "Is another process holding it, or its disk full?" if self.is_sqlite else "Is the server running?"
        return UnreachableError(f"the store {self.shown} does not answer: {_reason(error)}", hint)


_SNAPSHOT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


def _refused(error: DatabaseError) -> str:
    """What to do where the database is there and takes no writes; empty: that is not what this error says."""
    code = str(getattr(error.orig, "sqlstate", None) or getattr(error.orig, "sqlite_errorname", None) or "")
    return next((hint for start, hint in _REFUSALS.items() if code.startswith(start)), "")


def _reason(error: DatabaseError | InterfaceError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error.orig).__name__


def _postgresql(url: URL) -> Engine:
    limits = {name: value for name, value in _LIMITS.items() if name not in url.query}
    return create_engine(url.update_query_dict(limits), pool_pre_ping=True, paramstyle="format")


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the driver must not begin or commit on its own: `_begin` does
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    _write_ahead(cursor)
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """WAL, so that readers and a writer don't wait for each other; the switch itself does not wait, so we do."""
    give_up_at = time.monotonic() + BUSY_SECONDS
    while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)
        else:
            return


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get("tierdeck_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
