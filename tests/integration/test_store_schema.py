"""Opening a store: versions, migrations, errors."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

import db
from db import Store
from db.database import Database, parse_url
from db.schema import REVISIONS, metadata
from db.upgrade import check_version, upgrade
from tests.support.stores import Postgres, Sqlite
from tierdeck.errors import StoreVersionError, UnreachableError, UsageError

Stores = Sqlite | Postgres


def test_migrations_and_tables_agree(stores: Stores) -> None:
    database = Database(parse_url(stores.migrated()))
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()


def test_the_revisions_are_those_of_the_folder() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(db.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert tuple(reversed(found)) == REVISIONS


def test_an_empty_store_is_refused_with_the_command_to_run(stores: Stores) -> None:
    with pytest.raises((StoreVersionError, UnreachableError)) as caught:
        Store.open(stores.empty())
    assert "python -m db upgrade" in caught.value.line()


def test_a_file_without_a_schema_is_an_empty_store(tmp_path: Path) -> None:
    (tmp_path / "deck.db").touch()
    with pytest.raises(StoreVersionError, match="is empty"):
        Store.open(f"sqlite:///{tmp_path / 'deck.db'}")


def test_refusing_a_missing_file_does_not_make_it(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="no store at"):
        Store.open(f"sqlite:///{tmp_path / 'none.db'}")
    assert list(tmp_path.iterdir()) == []


def test_an_older_store_is_refused_until_it_is_upgraded(stores: Stores) -> None:
    database = Database(parse_url(stores.migrated()))
    with pytest.raises(StoreVersionError, match=f"is at {REVISIONS[-1]}") as caught:
        check_version(database, (*REVISIONS, "9999"))
    database.close()
    assert "python -m db upgrade" in caught.value.hint


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_store_of_any_revision_is_brought_up_to_date(stores: Stores, revision: str) -> None:
    database = Database(parse_url(stores.empty()))
    config = Config()
    config.set_main_option("script_location", str(Path(db.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    upgrade(database)
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()


@pytest.mark.parametrize("migrate", [False, True])
def test_a_newer_store_is_never_touched(stores: Stores, migrate: bool) -> None:
    url = stores.migrated()
    database = Database(parse_url(url))
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '7777'"))
    database.close()
    with pytest.raises(StoreVersionError, match="newer Tierdeck") as caught:
        Store.open(url, migrate=migrate)
    assert caught.value.hint.startswith("Upgrade Tierdeck")


def test_two_processes_may_migrate_at_the_same_time(stores: Stores) -> None:
    url = stores.empty()
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_migrate, args=(url,)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    Store.open(url).close()


def _migrate(url: str) -> None:
    Store.open(url, migrate=True).close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "can't be read"),
        ("postgresql://deck:s3cret@host:port/deck", "can't be read"),
        ("mysql://deck:s3cret@host/deck", "can't be kept in mysql"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_a_url_that_can_not_be_used_is_told_without_its_password(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        Store.open(url)
    assert "s3cret" not in caught.value.line()
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://deck:s3cret@127.0.0.1:1/deck",
        "postgresql://deck@127.0.0.1:1/deck?password=s3cret",
        "postgres://deck:s3cret@127.0.0.1:1/deck",
    ],
)
@pytest.mark.parametrize("migrate", [False, True])
def test_a_server_that_does_not_answer_is_told_without_its_password(url: str, migrate: bool) -> None:
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1") as caught:
        Store.open(url, migrate=migrate)
    assert "s3cret" not in caught.value.line()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("this is no database at all, but a text that is long enough to have a header" * 20)
    with pytest.raises(UsageError, match="can't be used as a store"):
        Store.open(f"sqlite:///{path}", migrate=True)


def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnreachableError, match="can't be made"):
        Store.open(f"sqlite:///{tmp_path / 'file' / 'deck.db'}", migrate=True)
