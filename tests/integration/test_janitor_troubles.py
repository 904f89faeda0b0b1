"""What the janitor's process says of a pool that does not answer, and that no odd name ends it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.janitor.process import Process, shares_of
from db import Store
from health.pulse import Pulse
from tests.integration.test_janitor_process import environment
from tests.support.pool_folders import fill
from tests.support.stores import Sqlite
from tierdeck.errors import UsageError
from tierdeck.settings import Settings


def told(pool: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in environment(pool).items():
        monkeypatch.setenv(name, value)
    return Settings()


def test_a_name_that_is_no_text_does_not_end_the_process(
    sqlite: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = tmp_path / "pool"
    fill(pool / os.fsdecode(b"bad\xff"), 9, 1_700_000_000.0)
    fill(pool, 1, 1_700_000_000.0)
    (pool / os.fsdecode(b"thesis\xfe.tex")).touch()
    with Store.open(sqlite.migrated()) as store:
        process = Process(told(pool, monkeypatch), store, Pulse(), threading.Event())
        process._tick()
        (one,) = store.janitor_runs()
    assert "thesis\\xfe.tex is nothing that LMCache writes" in one.words
    assert one.identities[0].identity == "bad\\xff"


def test_a_pool_that_does_not_answer_is_said_while_it_does_not(
    sqlite: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pool").mkdir()
    with Store.open(sqlite.migrated()) as store:
        process = Process(told(tmp_path / "pool", monkeypatch), store, Pulse(), threading.Event())
        assert process.trouble(lambda: 0.0) == ""
        process.asked_at = 5.0
        assert process.trouble(lambda: 64.0) == ""
        assert process.trouble(lambda: 95.0) == "the pool has not answered for 90 s"
        process._tick()
        assert process.trouble(lambda: 1e9) == "", "between two looks nothing is waited for"


def test_a_mount_that_is_broken_for_minutes_fails_the_health_check(
    sqlite: Sqlite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock: Callable[[], float] = lambda: 0.0  # noqa: E731
    pulse = Pulse(clock)
    (tmp_path / "pool").mkdir()
    with Store.open(sqlite.migrated()) as store:
        process = Process(told(tmp_path / "pool", monkeypatch), store, pulse, threading.Event())
        process.tell_unread(299.0, "the transport is gone")
        assert pulse.trouble() == ""
        process.tell_unread(301.0, "the transport is gone")
        assert pulse.trouble() == "the loop janitor fails: the transport is gone"
        process.tell_unread(0.0, "")
        assert pulse.trouble() == ""


def test_shares_of_more_than_the_pool_are_refused() -> None:
    assert shares_of("a=0.5, b=0.5") == {"a": 0.5, "b": 0.5}
    with pytest.raises(UsageError, match="more than the whole pool"):
        shares_of("a=0.9,b=0.9")
