"""The L2 pool view and `tierdeck pool` on real stores: figures, what is wrong, what can't be told, the choice."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from console.cli.app import app as command
from console.cli.pool_commands import pools
from console.pool_figures import flow
from db import Store
from tests.support.console_store import CLUSTER
from tests.support.pool_store import GIB, LOST_SECONDS, MAIN, SPARE, fill_pools
from tests.unit.console.test_views import frame, open_view, words
from tierdeck.errors import UsageError
from tierdeck.fleet import POOL, Replica, ReplicaKey, Target
from tierdeck.l2.computation import POOL_COMPUTATIONS, every_pool_figure
from tierdeck.l2.janitor_runs import IdentityPart, JanitorRun, Order, Outcome
from tierdeck.readings import READINGS
from tierdeck.resolution import Resolution
from tierdeck.settings import load_settings


@pytest.fixture
def now() -> float:
    """A whole minute: whenever the page is asked for, its window ends there or a minute later."""
    return time.time() // 60 * 60


@pytest.fixture
def store(tmp_path: Path, now: float, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    monkeypatch.setenv("TIERDECK_SCRAPE_INTERVAL_SECONDS", "60")
    fill_pools(url, now)
    return url


def told(name: str) -> list[dict[str, Any]]:
    """The command's document of the pools of that name."""
    found: Any = pools(load_settings(), name, 3600.0)["pools"]
    return list(found)


def test_a_pool_that_fills_says_when_it_is_full_and_what_is_wrong(store: str) -> None:
    page = open_view("pool", window="1h")
    assert not page.exception
    numbers = {metric.label: (metric.value, metric.delta) for metric in page.metric}
    # 60 GiB of 300 are free, 20 are others'; a GiB a minute goes; 200 and 40 MiB/s go through the mounts
    assert numbers["Used of capacity"] == ("73 %", "220 GiB of 300 GiB · 20 GiB others'")
    full_in, pace = numbers["Time to full"]
    assert re.fullmatch(r"59 min|1 h 0[01] min", full_in)  # the newest reading may stand in a minute of its own
    assert pace == "17.1 MiB/s net written, last hour"
    assert numbers["Workers live"] == ("3 of 3", "none missing")
    assert numbers["Reads"] == ("200 MiB/s", "40 MiB/s written, last hour")
    assert numbers["Failed requests"] == ("5", "1 of 4 mounts had some, 1 not read, last hour")
    said = words(page)
    assert "✕ 1 of 4 mounts hang (node-2): readers and writers on that node block." in said
    assert "▲ Disks failed on curvine-worker-2." in said
    assert "▲ 72 orphan chunks (0.5 % of 13.2 k files)" in said
    assert "1 of 4 mounts were not read" in said
    assert "Not walked: the janitor is off" in said


def test_mounts_are_told_by_a_shape_and_a_word_the_worst_first(store: str) -> None:
    page = open_view("pool", window="1h")
    mounts = frame(page, "mount").set_index("mount")
    assert list(mounts["state"]) == ["✕ hung", "◌ silent", "● working", "● working"]
    assert list(mounts["errors"]) == ["none", "–", "5 EIO, 1 ENOSPC", "none"]
    assert mounts.loc["node-2", "why"] == (
        "12 replies wait, a sender sent nothing for 5 min; 13 requests under way, none answered for 5 min"
    )
    assert mounts.loc["node-3", "why"] == "its client was never read: connection refused"
    assert mounts.loc["node-3", "read"] == "–"  # not known is not 0
    workers = frame(page, "worker").set_index("worker")
    assert list(workers["state"]) == ["● live"] * 3
    assert list(workers["disks"]) == ["1", "1", "▲ 1 of 1 failed"]


def test_the_pool_lives_in_the_address_and_what_it_does_not_tell_has_its_reason(store: str) -> None:
    page = open_view("pool", window="1h", pool=SPARE)
    numbers = {metric.label: (metric.value, metric.delta) for metric in page.metric}
    assert numbers["Workers live"] == ("1 of 2", "1 lost")
    assert numbers["Time to full"] == ("not known", "its capacity changed within the hour")
    assert numbers["Reads"][0] == "not known"
    assert numbers["Failed requests"][0] == "not known"
    said = words(page)
    assert "✕ w-1 is lost: silent for 10 minutes" in said
    assert "Orphan chunks: not known; its workers have 2 data directories" in said
    assert "No FUSE mount is among the targets" in said
    workers = frame(page, "worker").set_index("worker")
    assert workers.loc["w-1", "free"] == "–"
    assert np.isnan(workers["used"].astype("float64")["w-1"])
    page.selectbox(key="chosen_pool").select_index(0).run()
    assert page.query_params["pool"] in (MAIN, [MAIN])


def test_an_address_that_names_no_pool_shows_the_first_and_says_so(store: str) -> None:
    page = open_view("pool", pool="gone")
    assert page.warning[0].value.startswith("There is no pool 'gone'")
    assert not page.exception
    assert "nvme · cluster prod-usw2" in words(page)
    assert {metric.label: metric.value for metric in page.metric}["Reads"] == "200 MiB/s"  # of 15 minutes, unrolled


def test_a_pool_of_which_nothing_was_read_yet_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    key = ReplicaKey("east", POOL, "new")
    with Store.open(url, migrate=True) as opened:
        opened.declare("east", [], [Replica(key, (Target(key, "curvine-master", "http://m:9000"),))], "test", "a test")
    page = open_view("pool")
    assert not page.exception
    assert {metric.value for metric in page.metric} == {"not known"}
    assert "nothing was read of the pool yet" in words(page)
    text = CliRunner().invoke(command, ["pool"])
    assert text.output.startswith("new  [east]  unknown (nothing was read of the pool yet)")


def test_a_worker_that_goes_is_marked_and_old_readings_are_not_taken_for_the_present(store: str, now: float) -> None:
    from console.pool_queries import PoolChoice, pool_view  # noqa: PLC0415  # it reads the environment

    page = pool_view(PoolChoice("prod-usw2", SPARE), "1h", now)
    (went,) = page.moments
    assert went.words == "worker away"
    assert abs(went.at.timestamp() - (now - LOST_SECONDS)) <= 60
    later = pool_view(PoolChoice("prod-usw2", MAIN), "1h", now + 600)
    assert {headline.value for headline in later.headlines[:3]} == {"not known"}
    assert re.search(r"no round of the pool has come for (9|10) min", " ".join(later.reservations))
    assert set(later.mounts["state"]) == {"◌ silent"}


def test_what_went_through_is_counted_between_readings_and_not_over_a_new_beginning(store: str, now: float) -> None:
    with Store.open(store) as opened:
        series = opened.pool_series(now - 600, now, Resolution.RAW)
    own = series[series["pool"] == MAIN].reset_index(drop=True)
    before: Any = own.loc[4, "read_bytes"]
    own["read_bytes"] = own["read_bytes"].where(own.index < 4, own["read_bytes"] - float(before))  # its memory was lost
    found = flow(own, (now - 600, now), Resolution.RAW)
    assert found["seconds"].round().eq(60).all()
    assert found["read_bytes"].isna().sum() == 1
    assert found["read_bytes"].dropna().eq(60 * 200 * 2**20).all()


def test_the_command_tells_the_same_with_a_reason_for_every_null(store: str) -> None:
    (pool,) = told(MAIN)
    assert pool["available_bytes"] == 60 * GIB
    assert pool["time_to_full_seconds"] == pytest.approx(3600, abs=61)
    assert (pool["is_filling"], pool["orphan_chunks"], pool["failed_requests"]) == (True, 72, 5)
    assert [mount["state"] for mount in pool["members"]["mounts"]] == ["hung", "silent", "working", "working"]
    assert pool["members"]["mounts"][1]["errors"] is None
    assert pool["why"] == dict.fromkeys(("walked_at", "identities"), "not walked: the janitor is off")
    (spare,) = told(SPARE)
    nulls = {key for key, value in spare.items() if value is None}
    assert nulls == set(spare["why"])
    with pytest.raises(UsageError, match="there is no pool 'gone'"):
        told("gone")


def test_what_the_janitor_walked_is_told_by_identity(store: str, now: float) -> None:
    parts = IdentityPart("llama-1", 10, 50 * GIB, now - 7200), IdentityPart("qwen-2", 30, 150 * GIB, now - 60, 3, GIB)
    run = JanitorRun(
        CLUSTER, MAIN, "host-2:7", now - 180, is_dry=True, outcome=Outcome.DRY, ended_at=now - 170, order=Order.READ,
        capacity_bytes=300.0 * GIB, used_before_bytes=220.0 * GIB, used_after_bytes=220.0 * GIB,
        files=40, size_bytes=200 * GIB, identities=parts,
    )  # fmt: skip
    refused = JanitorRun(
        CLUSTER, MAIN, "host-2:7", now - 60, is_dry=True, outcome=Outcome.REFUSED, words="a foreign file"
    )
    with Store.open(store) as opened:
        opened.save_janitor_run(run, at=now - 170)
        opened.save_janitor_run(refused, at=now - 60)
    page = open_view("pool", window="1h", pool=MAIN)
    assert not page.exception
    shown = frame(page, "identity")
    assert shown["identity"].tolist() == ["qwen-2", "llama-1"]
    assert shown["share"].tolist() == [75.0, 25.0]
    assert shown["would have gone"].tolist() == ["1 GiB in 3 files", "–"]
    assert frame(page, "what came of it")["outcome"].tolist() == ["✕ refused", "○ dry: nothing was deleted"]
    assert "Last use is the last read" in words(page)
    (pool,) = told(MAIN)
    assert [one["identity"] for one in pool["identities"]] == ["llama-1", "qwen-2"]
    assert "walked_at" not in pool["why"]
    assert "qwen-2" in CliRunner().invoke(command, ["pool", MAIN]).output


def test_the_command_prints_a_text_and_one_document(store: str) -> None:
    text = CliRunner().invoke(command, ["pool", MAIN])
    assert text.exit_code == 0, text.output
    assert re.search(r"time to full  (59 min|1 h 0[01] min)", text.output)
    assert "✕ hung" in text.output
    assert json.loads(CliRunner().invoke(command, ["pool", "--json"]).stdout)["window_seconds"] == 3600


def test_every_figure_of_a_pool_is_explained_by_readings_that_exist() -> None:
    for one in POOL_COMPUTATIONS.values():
        assert not one.sentence.endswith(".")
        assert set(one.readings) <= set(READINGS)
        assert one.title in every_pool_figure()
