"""Fixtures: the store on both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from db import Store
from tests.support.postgres import running_postgres
from tests.support.stores import Postgres, Sqlite, open_store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Databases on a real PostgreSQL."""
    with running_postgres() as url:
        yield Postgres(url)


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Sqlite:
    """SQLite files."""
    return Sqlite(tmp_path_factory.mktemp("stores"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def stores(request: pytest.FixtureRequest) -> Sqlite | Postgres:
    """A maker of stores on either database."""
    found: Sqlite | Postgres = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def store(stores: Sqlite | Postgres) -> Iterator[Store]:
    """A migrated store without rows, on either database."""
    with open_store(stores) as one:
        yield one
