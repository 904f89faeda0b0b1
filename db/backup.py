"""A copy of the store in one file, made while others go on writing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from sqlalchemy import URL

from db.database import Database
from tierdeck.errors import UnreachableError, UsageError

_MISSING = "PostgreSQL's pg_dump is not on the PATH"
_INSTALL = "Install PostgreSQL's client tools, or back up on the server."


def back_up(database: Database, path: Path, *, force: bool) -> None:
    """Write the file whole or not at all.

    Raises:
        UsageError: the file is there already, or can't be written.
        UnreachableError: pg_dump is missing or fails.
    """
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", "Choose another file, or add --force.")
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        if database.is_sqlite:
            _copy_sqlite(database, part)
        else:
            _dump_postgresql(database.url, part)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"{path} can't be written: {error}", "Choose another file.") from error
    finally:
        part.unlink(missing_ok=True)


def _copy_sqlite(database: Database, path: Path) -> None:
    """All pages in one step: a reader's snapshot, which no writer has to wait for."""
    with database.read() as connection:
        source = connection.connection.driver_connection
        if not isinstance(source, sqlite3.Connection):
            raise TypeError("a SQLite store has SQLite connections")
        copy = sqlite3.connect(path)
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        finally:
            copy.close()


def _dump_postgresql(url: URL, path: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise UnreachableError(_MISSING, _INSTALL)
    shown = url.set(drivername="postgresql", password=None)
    environment = {**os.environ, **({"PGPASSWORD": str(url.password)} if url.password else {})}
    command = [program, "--no-password", "--format=custom", f"--file={path}", shown.render_as_string()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason told"])[0]
        raise UnreachableError(f"pg_dump failed: {reason}", "Its version must not be older than the server's.")
