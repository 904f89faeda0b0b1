"""Backups while others write, and the store's own command."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from db import Store
from db.__main__ import main
from tests.support.rounds import T0, a_round, endpoint
from tests.support.stores import Postgres, Sqlite
from tierdeck.errors import UnreachableError, UsageError


def test_a_backup_made_while_a_writer_runs_opens_and_has_the_rows(sqlite: Sqlite, tmp_path: Path) -> None:
    copy, stop = tmp_path / "copy.db", threading.Event()
    with Store.open(sqlite.migrated()) as store:
        store.declare("east", [endpoint()], [], "config", "test")
        store.append([a_round(T0 + n) for n in range(1, 101)])
        writer = threading.Thread(target=_write_until, args=(store, stop))
        writer.start()
        try:
            store.backup(copy)
        finally:
            stop.set()
            writer.join()
    with Store.open(f"sqlite:///{copy}") as backup:
        found = backup.accounts(T0, T0 + 1e6, stale_after_seconds=1e9)[0].replicas[0].ledger
        assert found.prompt_tokens is not None
        assert found.prompt_tokens >= 100_000.0
        assert backup.last_at() == T0 + found.engine_scrapes  # whole rounds: ledgers and memories agree
        backup.append([a_round(T0 + 1e5)])
    assert sqlite3.connect(copy).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _write_until(store: Store, stop: threading.Event) -> None:
    at = T0 + 101
    while not stop.is_set():
        store.append([a_round(at)])
        at += 1


def test_a_backup_overwrites_nothing_unless_told_to(sqlite: Sqlite, tmp_path: Path) -> None:
    path = tmp_path / "copy.db"
    path.write_text("precious")
    with Store.open(sqlite.migrated()) as store:
        with pytest.raises(UsageError, match="is there already"):
            store.backup(path)
        assert path.read_text() == "precious"
        store.backup(path, force=True)
    Store.open(f"sqlite:///{path}").close()
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".part"] == []


def test_a_backup_to_a_folder_that_is_not_there_is_told(sqlite: Sqlite, tmp_path: Path) -> None:
    with Store.open(sqlite.migrated()) as store, pytest.raises(UsageError, match="can't be written"):
        store.backup(tmp_path / "none" / "copy.db")


@pytest.mark.postgres
def test_postgresql_is_dumped_by_its_own_tool(postgres: Postgres, tmp_path: Path) -> None:
    path = tmp_path / "deck.dump"
    with Store.open(postgres.migrated()) as store:
        store.append([a_round(T0 + 15)])
        if shutil.which("pg_dump") is None:
            pytest.skip("pg_dump is not installed (apt-get install postgresql-client)")
        store.backup(path)
    assert path.read_bytes().startswith(b"PGDMP")


@pytest.mark.postgres
def test_a_missing_pg_dump_is_told_in_one_sentence(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(postgres.migrated()) as store:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UnreachableError, match="pg_dump is not on the PATH"):
            store.backup(tmp_path / "deck.dump")


def test_the_command_upgrades_tells_and_copies(
    stores: Sqlite | Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIERDECK_DATABASE_URL", stores.empty())

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *capsys.readouterr()

    code, out, err = run("status")
    assert (code, out, err.count("\n")) == (3 if isinstance(stores, Sqlite) else 2, "", 1)
    assert "python -m db upgrade" in err
    assert run("upgrade") == (0, "the store is up to date\n", "")
    code, out, err = run("status")
    assert (code, err) == (0, "")
    assert "ledger_raw" in out
    copy = str(tmp_path / "copy")
    assert run("backup", copy)[0] == 0
    code, out, err = run("backup", copy)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert run("backup", "--force", copy)[0] == 0


def test_the_command_tells_a_server_that_does_not_answer_in_one_line() -> None:
    environment = {**os.environ, "TIERDECK_DATABASE_URL": "postgresql://deck:s3cret@127.0.0.1:1/deck"}
    command = [sys.executable, "-m", "db", "status"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert "s3cret" not in done.stderr
    assert "Traceback" not in done.stderr
