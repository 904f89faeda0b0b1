"""A store that is there and takes no writes: told as such, with what to do, and left as soon as that is over."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import make_url, text

from db import Store
from db.database import Database, parse_url
from tests.support.postgres import running_standby_to_be
from tests.support.rounds import T0
from tests.support.stores import Postgres, Sqlite
from tierdeck.errors import UnreachableError


def beat(store: Store, at: float) -> None:
    store.beat("controller", "here:1", "0.1", T0, at)


def fill(database: Database, pragma: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql(f"PRAGMA {pragma}")
        connection.execute(text("CREATE TABLE large (a TEXT)"))
        connection.execute(text("INSERT INTO large VALUES (:a)"), {"a": "x" * 1_000_000})


@pytest.mark.postgres
def test_a_server_that_became_read_only_is_told_as_such_and_written_again_once_it_is_over(postgres: Postgres) -> None:
    url = postgres.empty()
    name = make_url(url).database
    with Store.open(url, migrate=True) as store, psycopg.connect(url, autocommit=True) as admin:
        beat(store, T0)
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s "
                      "AND pid <> pg_backend_pid()", (name,))  # fmt: skip
        with pytest.raises(UnreachableError, match="takes no writes: cannot execute") as told:
            beat(store, T0 + 1)
        assert "has to lead to the primary" in told.value.hint
        with Store.open(url) as other:
            assert other.processes()["beat_at"].item().timestamp() == T0  # it is still read
        # what was connected meanwhile is given up: a connection keeps the server that it once found
        admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
        beat(store, T0 + 2)
        assert store.processes()["beat_at"].item().timestamp() == T0 + 2


@pytest.mark.postgres
def test_a_server_that_became_a_standby_is_told_as_such_and_written_again_once_it_is_the_primary() -> None:
    with running_standby_to_be() as (url, demote), Store.open(url, migrate=True) as store:
        beat(store, T0)
        demote()
        # whether a connection has read before makes it another error of the driver's
        for _ in range(2):
            with pytest.raises(UnreachableError, match="takes no writes: cannot ") as told:
                beat(store, T0 + 1)
            assert "has to lead to the primary" in told.value.hint
            assert store.processes()["beat_at"].item().timestamp() == T0
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("SELECT pg_promote()")
        beat(store, T0 + 2)
        assert store.processes()["beat_at"].item().timestamp() == T0 + 2


@pytest.mark.postgres
def test_a_store_that_is_read_only_when_it_is_opened_is_told_as_such(postgres: Postgres) -> None:
    url = postgres.empty()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {make_url(url).database} SET default_transaction_read_only = on".encode())
    with pytest.raises(UnreachableError, match="takes no writes"):
        Store.open(url, migrate=True)


@pytest.mark.postgres
def test_a_user_who_may_only_read_is_told_what_is_missing(postgres: Postgres) -> None:
    url = postgres.empty()
    Store.open(url, migrate=True).close()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    theirs = make_url(url).set(username="reader").render_as_string(hide_password=False)
    with Store.open(theirs) as store:
        assert store.processes().empty
        with pytest.raises(UnreachableError, match="takes no writes: permission denied for table processes") as told:
            beat(store, T0)
        assert told.value.hint == "Grant it to the store's user."


@pytest.mark.parametrize(
    ("pragma", "reason", "hint"),
    [
        ("query_only=ON", "attempt to write a readonly database", "can't write the file or its folder"),
        ("max_page_count=1", "database or disk is full", "disk is full"),
    ],
)
def test_a_file_that_can_t_be_written_is_told_as_such(sqlite: Sqlite, pragma: str, reason: str, hint: str) -> None:
    database = Database(parse_url(sqlite.migrated()))
    with pytest.raises(UnreachableError, match=f"takes no writes: {reason}") as told:
        fill(database, pragma)
    assert hint in told.value.hint
    database.close()
