"""A collector that is killed in mid-write leaves only whole rounds."""

from __future__ import annotations

import sqlite3
import time
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection

from sqlalchemy import create_engine, text

from db import Store
from db.database import parse_url
from tests.support.rounds import T0, a_round, key
from tests.support.stores import Postgres, Sqlite

ROUNDS = 20
KILLS = 5


def write_for_ever(url: str, begun: Connection) -> None:
    """Batches of rounds of many replicas at one moment, moment after moment; says when it has begun."""
    with Store.open(url) as store:
        at = max(T0, store.last_at() or T0)
        while True:
            at += 15
            store.append([a_round(at, key(f"r{number}")) for number in range(ROUNDS)])
            begun.send(at)


def test_a_killed_writer_leaves_only_whole_rounds(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    for number in range(KILLS):
        mine, theirs = Pipe(duplex=False)
        process = get_context("fork").Process(target=write_for_ever, args=(url, theirs))
        process.start()
        theirs.close()
        mine.recv()
        time.sleep(0.02 + 0.013 * number)
        process.kill()
        process.join()
        mine.close()
    time.sleep(0.2)  # a server may still be committing what it was told to
    with Store.open(url) as store:
        last_at = store.last_at()
        assert last_at is not None
        memories = store.memories("east")
        store.append([a_round(last_at + 15, key(f"r{number}")) for number in range(ROUNDS)])  # it can be written to
    assert {memory["at"] for memory in memories.values()} == {last_at}
    assert len(memories) == ROUNDS
    for table in ("ledger_raw", "scrapes"):
        assert _rounds_by_moment(url, table) <= {ROUNDS}
    assert _newest_rows(url) == ROUNDS
    if url.startswith("sqlite"):
        assert sqlite3.connect(parse_url(url).database or "").execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def _rounds_by_moment(url: str, table: str) -> set[int]:
    at = {"ledger_raw": "at", "scrapes": "last_attempt_at"}[table]
    return set(_query(url, f"SELECT COUNT(*) FROM {table} GROUP BY {at}"))


def _newest_rows(url: str) -> int:
    """Ledger rows of the moment that the memories are of, after the one that was appended by the test."""
    (number,) = _query(url, "SELECT COUNT(*) FROM ledger_raw JOIN memories ON ledger_raw.at = memories.at - 15"
                            " JOIN series ON series.id = series_id AND series.replica = memories.replica")  # fmt: skip
    return number


def _query(url: str, statement: str) -> list[int]:
    engine = create_engine(parse_url(url))
    with engine.connect() as connection:
        found = list(connection.execute(text(statement)).scalars())
    engine.dispose()
    return found
