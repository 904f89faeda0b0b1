"""SQLite answers by key: never by walking through the rows of other times."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sqlalchemy import event

from db import Store
from db.database import Database, parse_url
from tests.support.rounds import T0, a_round, endpoint, histogram
from tierdeck.account import WarmingLimits
from tierdeck.resolution import Resolution


def test_time_series_are_searched_by_their_key(tmp_path_factory: pytest.TempPathFactory) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('plans') / 'deck.db'}"
    seen: list[tuple[str, object]] = []
    with Store.open(url, migrate=True) as store:
        store.declare("east", [endpoint()], [], "config", "test")
        store.append([a_round(T0 + 15 * n, ttft=histogram(1, 0, 0, 0, 0)) for n in range(1, 20)])
        engine = store._database._engine  # the statements are what this test is about
        event.listen(engine, "before_cursor_execute", lambda _c, _k, sql, values, _x, _m: seen.append((sql, values)))
        store.rollup(T0 + 7200, WarmingLimits())
        store.accounts(T0, T0 + 600)
        store.accounts(T0 - 7200, T0 + 7200, "east", "chat")
        for resolution in Resolution:
            store.endpoint_series(T0, T0 + 600, resolution)
            store.replica_series(T0, T0 + 600, resolution, "east", "chat")
            store.pool_series(T0, T0 + 600, resolution)
        store.salt_counts(T0, T0 + 600, "east", "chat")
        store.scene(T0)
        store.hit_history(T0, T0 + 600)
        store.prune(T0 + 7200, dict.fromkeys(Resolution, 10**6))
    database = Database(parse_url(url))
    scans = set()
    with database.read() as connection:
        for sql, values in seen:
            if sql.startswith("SELECT") and isinstance(values, tuple):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()
                scans |= {(row[3], sql) for row in plan if row[3].startswith("SCAN")}
    database.close()
    long = ("ledger_", "histograms_", "salts_", "pools_", "endpoints_")
    assert [sql for scan, sql in scans if scan.split()[1].startswith(long)] == []


def test_writers_need_no_pandas() -> None:
    code = "import db, sys; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
