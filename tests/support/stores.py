"""Empty and migrated stores on both databases, quick to make: migrated once, then copied or emptied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

from db import Store
from db.schema import REVISIONS, metadata

_numbers = count(1)


class Sqlite:
    """Stores in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._template = folder / "template.db"
        Store.open(f"sqlite:///{self._template}", migrate=True).close()

    def empty(self) -> str:
        return f"sqlite:///{self._folder / f'{next(_numbers)}.db'}"

    def migrated(self) -> str:
        path = self._folder / f"{next(_numbers)}.db"
        shutil.copy(self._template, path)
        return f"sqlite:///{path}"


class Postgres:
    """Databases of one server.

    Args:
        url: with `{database}` where the name goes.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._migrated = self.empty()
        Store.open(self._migrated, migrate=True).close()

    def empty(self) -> str:
        name = f"deck{next(_numbers)}"
        with psycopg.connect(self._url.format(database="postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._url.format(database=name)

    def migrated(self) -> str:
        """The same database each time, without rows: a new one takes longer than most tests."""
        tables = ", ".join(metadata.tables)
        with psycopg.connect(self._migrated, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {tables} RESTART IDENTITY CASCADE".encode())
            connection.execute("UPDATE alembic_version SET version_num = %s", (REVISIONS[-1],))
        return self._migrated


@contextmanager
def open_store(stores: Sqlite | Postgres) -> Iterator[Store]:
    """A migrated store without rows."""
    with Store.open(stores.migrated()) as store:
        yield store
