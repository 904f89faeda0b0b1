"""Pools as page and commands answer for them: full ones, old readings, names that janitors don't use, pools alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from console.cli import cleaning
from console.cli.pool_commands import as_text, pools
from console.headlines import Headline
from console.pool_figures import flow, pool_figures, read_pool
from console.pool_headlines import pool_headlines
from console.pool_queries import PoolChoice, pool_view
from console.windows import WINDOWS
from db import Store
from tests.support.console_store import CLUSTER
from tests.support.pool_store import GIB
from tierdeck.account import Answer, PoolAccount, WarmingLimits
from tierdeck.fleet import POOL, ReplicaKey, Target
from tierdeck.l2.janitor_runs import IdentityPart, JanitorRun, Outcome
from tierdeck.l2.members import MemberKind, MountFacts, PoolMember
from tierdeck.ledger import TokenLedger
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round, Scrape
from tierdeck.settings import load_settings

MIB = 2**20
NVME, CHAT, CODE = (ReplicaKey(CLUSTER, *rest) for rest in ((POOL, "nvme"), ("chat", "_fleet"), ("code", "_fleet")))
DAY = 86400.0


@pytest.fixture
def now() -> float:
    return time.time()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/tierdeck.db"
    monkeypatch.setenv("TIERDECK_DATABASE_URL", url)
    monkeypatch.setenv("TIERDECK_SCRAPE_INTERVAL_SECONDS", "60")
    with Store.open(url, migrate=True) as opened:
        yield opened


def room(free: float, capacity: float = 300.0 * GIB) -> PoolAccount:
    return PoolAccount(capacity, free, capacity - free, 3.0, 0.0, 0.0, 0.0, read_bytes=0.0, written_bytes=0.0,
                       failed_requests=0.0)  # fmt: skip


def tell(
    store: Store, key: ReplicaKey, end_at: float, of: Callable[[int], PoolAccount], members: Sequence[PoolMember] = ()
) -> None:
    """An hour of rounds, one a minute; the argument is the minute, 60 is the last."""
    target = Target(key, "curvine-master", "http://10.3.0.1:9000/metrics")
    rounds = []
    for minute in range(61):
        at = end_at - 60.0 * (60 - minute)
        scrape = Scrape(target, at, answered=True)
        ledger = TokenLedger(at - 60, at)
        rounds.append(Round(key, at, ledger, Answer.NO_ENGINE, (scrape,), pool=of(minute), members=tuple(members)))
    store.append(rounds)
    store.rollup(end_at, WarmingLimits())


def told_by_janitor() -> dict[str, dict[str, Any]]:
    document = cleaning.janitor(load_settings(), 5)
    for pool in document["pools"]:
        assert {key for key, value in pool.items() if value is None} == set(pool["why"])
    return {pool["pool"]: pool for pool in document["pools"]}


def headlines(store: Store, now: float) -> dict[str, Headline]:
    edges, window = (now - 3600, now), WINDOWS["1h"]
    told = read_pool(store, NVME, edges, Resolution.MINUTE)
    found = pool_figures(told, flow(told.series, edges, Resolution.MINUTE), now, 180.0)
    return {one.label: one for one in pool_headlines(found, window)}


def test_a_pool_that_takes_no_more_writes_is_full_though_something_is_free(store: Store, now: float) -> None:
    tell(store, NVME, now, lambda _: room(300.0 * MIB))  # three workers keep 384 MiB
    full = headlines(store, now)["Time to full"]
    assert (full.value, full.below) == ("full", "300 MiB free: each worker keeps its last 128 MiB")
    document = pools(load_settings(), "nvme", 3600.0)
    assert "time to full  full (300 MiB free: each worker keeps its last 128 MiB)" in as_text(document)
    (pool,) = _listed(document)
    assert pool["time_to_full_seconds"] == 0


def test_errors_of_days_ago_are_none_of_the_window_and_mounts_that_were_not_read_are_named(
    store: Store, now: float
) -> None:
    old = MountFacts(now - 9 * DAY, (("EIO", 500.0),), now - 3 * DAY, 0.0, progress_at=now)
    mounts = [PoolMember(MemberKind.MOUNT, "a", mount=old)]
    mounts += [PoolMember(MemberKind.MOUNT, name, "timed out") for name in ("b", "c")]
    tell(store, NVME, now, lambda _: room(100.0 * GIB), mounts)
    failed = headlines(store, now)["Failed requests"]
    assert (failed.value, failed.below) == ("0", "none on 1 mount, 2 not read, last hour")


def test_a_client_that_tells_nothing_of_a_hang_is_said_apart_from_one_that_was_not_read(
    store: Store, now: float
) -> None:
    mounts = [PoolMember(MemberKind.MOUNT, "old", mount=MountFacts(now - DAY)), PoolMember(MemberKind.MOUNT, "b", "no")]
    tell(store, NVME, now, lambda _: room(100.0 * GIB), mounts)
    page = pool_view(PoolChoice(CLUSTER, "nvme"), "1h", now)
    said = " ".join(page.reservations)
    assert "1 of 2 mounts were not read" in said
    assert "1 of 2 mounts have clients that don't tell whether anything waits" in said
    (pool,) = _listed(pools(load_settings(), "nvme", 3600.0))
    assert {mount["name"]: mount["state"] for mount in pool["members"]["mounts"]} == {"old": "silent", "b": "silent"}


def test_a_janitor_that_calls_the_pool_otherwise_is_said_with_its_name(store: Store, now: float) -> None:
    tell(store, NVME, now, lambda _: room(100.0 * GIB))
    _walked(store, "curvine", now)
    (pool,) = _listed(pools(load_settings(), "nvme", 3600.0))
    assert pool["why"]["identities"] == (
        "not walked: no janitor has told of a pool of this name, only of curvine; "
        "TIERDECK_JANITOR_POOL=nvme is what this one's janitor needs"
    )
    said = pool_view(PoolChoice(CLUSTER, "nvme"), "1h", now).walk.words[0]
    assert said.startswith("Not walked: no janitor has told of a pool of this name, only of curvine;")


def test_the_pool_of_an_endpoint_is_walked_under_the_endpoint_s_name(store: Store, now: float) -> None:
    tell(store, CHAT, now, lambda _: room(100.0 * GIB))
    _walked(store, "chat", now)
    (pool,) = _listed(pools(load_settings(), "chat", 3600.0))
    assert [one["identity"] for one in pool["identities"]] == ["llama"]
    assert pool_view(PoolChoice(CLUSTER, "chat"), "1h", now).walk.words[0].startswith("Walked ")


def test_the_janitor_s_command_tells_no_old_reading_as_the_present(store: Store, now: float) -> None:
    tell(store, NVME, now - 19 * 3600, lambda minute: room((200.0 - minute) * GIB))
    told = told_by_janitor()["nvme"]
    assert (told["capacity_bytes"], told["used_bytes"], told["write_bytes_per_second"]) == (None, None, None)
    assert set(told["why"].values()) == {"no round of the pool has come for 19 h"}
    text = cleaning.as_text(cleaning.janitor(load_settings(), 5))
    assert "Pool nvme: size unknown (no round of the pool has come for 19 h)." in text


def test_the_pools_of_two_endpoints_are_kept_apart(store: Store, now: float) -> None:
    tell(store, CHAT, now, lambda _: room(80.0 * GIB))
    tell(store, CODE, now, lambda minute: room((200.0 - minute) * GIB))
    told = told_by_janitor()
    # a GiB a minute is written to one; the use of the other does not rise, which a time to live would do too
    assert told["code"]["write_bytes_per_second"] == pytest.approx(GIB / 60, rel=0.02)
    assert told["chat"]["why"]["write_bytes_per_second"] == "its use does not rise"
    (advice,) = told["chat"]["advice"]
    assert advice.startswith("Its use does not rise")
    text = cleaning.as_text(cleaning.janitor(load_settings(), 5))
    assert "Pool chat: 220 GiB of 300 GiB used (73 %)." in text


def test_why_a_size_is_not_known_is_said(store: Store, now: float) -> None:
    tell(store, NVME, now, lambda _: PoolAccount(reason="no Curvine master answered"))
    assert told_by_janitor()["nvme"]["why"]["capacity_bytes"] == "no Curvine master answered"


def _walked(store: Store, pool: str, now: float) -> None:
    parts = (IdentityPart("llama", 10, 50 * GIB, now - 7200),)
    run = JanitorRun(
        CLUSTER, pool, "host-2:7", now - 180, is_dry=True, outcome=Outcome.DRY, ended_at=now - 170, identities=parts
    )
    store.save_janitor_run(run, at=now - 170)


def _listed(document: Any) -> list[dict[str, Any]]:
    return list(document["pools"])
