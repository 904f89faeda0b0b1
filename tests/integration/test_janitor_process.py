"""The janitor as a process: on a real directory, told by its settings, seen on its port, stopped by a signal."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from pydantic import SecretStr

from console.cli.cleaning import as_text, janitor
from controller.janitor.mounts import mount_of
from db import Store
from tests.support.janitor_fleet import clean, filling
from tests.support.pool_folders import KILO, fill
from tests.support.processes import running, wait_until
from tests.support.simulated_deck import SimulatedDeck
from tests.support.stores import Sqlite
from tierdeck.l2.janitor_runs import Outcome
from tierdeck.settings import Settings

TIERDECK = Path(sys.executable).parent / "tierdeck"


def environment(path: Path, **more: str) -> dict[str, str]:
    mount = mount_of(path, Path("/proc/self/mountinfo").read_text("utf-8"))
    assert mount is not None
    return {
        "TIERDECK_JANITOR_PATH": str(path),
        "TIERDECK_JANITOR_FILESYSTEMS": mount.kind,
        "TIERDECK_JANITOR_CAPACITY_BYTES": str(10 * KILO),
        "TIERDECK_JANITOR_GRACE_SECONDS": "60",
        "TIERDECK_JANITOR_LOOK_SECONDS": "1",
        **more,
    }


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def asked(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def test_it_cleans_tells_of_itself_and_ends_when_it_is_told(sqlite: Sqlite, tmp_path: Path) -> None:
    pool, url, port, log = tmp_path / "pool", sqlite.migrated(), free_port(), tmp_path / "log"
    paths = fill(pool / "qwen", 9, time.time() - 300)
    told = environment(
        pool, TIERDECK_DATABASE_URL=url, TIERDECK_JANITOR_DELETE="true", TIERDECK_METRICS_PORT=str(port),
        TIERDECK_HOME=str(tmp_path),
    )  # fmt: skip
    with Store.open(url) as store, running("controller", "janitor", log=log, **told) as process:
        wait_until(lambda: any(run.ended_at for run in store.janitor_runs()), "a round", log)
        (one,) = store.janitor_runs()
        assert (one.outcome, one.deleted_files) == (Outcome.CLEANED, 2)
        assert [path.exists() for path in paths] == [False] * 2 + [True] * 7
        assert asked(port, "/healthz") == "ok\n"
        metrics = asked(port, "/metrics")
        assert f"tierdeck_janitor_deleted_bytes_total {2 * KILO}.0" in metrics
        assert 'tierdeck_janitor_rounds_total{outcome="cleaned"} 1.0' in metrics
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
        (row,) = store.processes().to_dict("records")
        assert (row["name"], str(row["stopped_at"]) != "NaT") == ("janitor", True)
        assert store.hold_lease("janitor/default/curvine", "next", time.time(), 1.0), "the lease is free"


def command(*args: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, **more}
    return subprocess.run(args, env=told, capture_output=True, text=True, timeout=240, check=False)


def test_a_dry_run_says_what_would_go_and_needs_no_store(tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    fill(pool / "qwen", 9, time.time() - 300)
    answer = command(TIERDECK, "janitor", "--dry-run", str(pool), "--json", **environment(pool))
    assert (answer.returncode, answer.stderr) == (0, "")
    document = json.loads(answer.stdout)
    assert (document["refusal"], document["run"]["chosen_files"], document["run"]["dry"]) == ("", 2, True)
    assert document["run"]["identities"][0]["identity"] == "qwen"
    assert len(list(pool.rglob("*.data"))) == 9


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "the janitor has no pool to clean. Set TIERDECK_JANITOR_PATH"),
        ({"TIERDECK_JANITOR_PATH": "/", "TIERDECK_JANITOR_SHARES": "qwen"}, "TIERDECK_JANITOR_SHARES: 'qwen' is no"),
    ],
)
def test_what_it_cant_use_is_one_line(tmp_path: Path, more: dict[str, str], words: str) -> None:
    answer = command(sys.executable, "-m", "controller", "janitor", TIERDECK_HOME=str(tmp_path), **more)
    assert (answer.returncode, answer.stdout) == (2, "")
    (line,) = answer.stderr.splitlines()
    assert words in line


def test_the_command_tells_of_room_and_of_rounds(sqlite: Sqlite) -> None:
    url = sqlite.migrated()
    settings = Settings(database_url=SecretStr(url), scrape_interval_seconds=250)  # what is read is not old
    assert "No janitor has been at work" in as_text(janitor(settings, 10))
    with Store.open(url) as store:
        deck = SimulatedDeck(filling(20 * 2**30, writes=0.1, began_at=time.time() - 1260.0), store)
        clean(deck.fleet, store)
        deck.run(1200.0)
    document = janitor(settings, 3)
    (pool,) = document["pools"]
    assert (len(document["runs"]), pool["pool"], pool["capacity_bytes"]) == (3, "curvine", 20 * 2**30)
    # About 60 MB are written a second: 17 GiB (85 %) are there within 5 minutes, so that no hour can hold.
    assert 30e6 < pool["write_bytes_per_second"] < 100e6
    assert 0 < pool["full_soonest_seconds"] < pool["full_in_seconds"] < 3600
    assert (pool["ttl_hours"], "no time to live in whole hours holds" in pool["why"]["ttl_hours"]) == (None, True)
    text = as_text(document)
    assert "A time to live can't hold this pool" in text
    assert "those read or written longest ago" in text
