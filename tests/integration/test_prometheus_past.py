"""The past from a real Prometheus: the same ledger as from the pages themselves, and resumable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from pydantic import SecretStr

from collectors.backfill import backfill
from collectors.prometheus.asking import Asking
from collectors.prometheus.backfill import Past, fill
from collectors.prometheus.server import Server
from db import Store
from lab.sim.history import WARM_UP_SECONDS, Stretch, recording
from lab.sim.spec import FleetSpec
from tests.support.prometheus import Prometheus, load_openmetrics, running_prometheus
from tests.support.scraped import openmetrics
from tests.unit.lab_sim.scraping import BEGAN_AT, EMBEDDED, ENDPOINT, MP
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill
from tierdeck.resolution import Resolution
from tierdeck.settings import Settings

LIMITS = WarmingLimits()
START = int(BEGAN_AT + WARM_UP_SECONDS)
HOURS = 2
END = START + HOURS * 3600
SPEC = FleetSpec((replace(ENDPOINT, forms=(MP, EMBEDDED), requests_per_second=0.3),), (20 * 2**30,) * 2)
EVERY = 15.0


@cache
def lines() -> tuple[dict[str, object], ...]:
    """Two hours; a replica restarts in their middle, as it did four hours before the present of `lab.sim.day`."""
    return tuple(recording(lambda: SPEC, 1, Stretch(START, END, EVERY, "test", present=END + 3 * 3600)))


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    load_openmetrics(folder, "".join(openmetrics(lines())))
    with running_prometheus(folder) as server:
        yield server


@pytest.fixture
def server(prometheus: Prometheus) -> Iterator[Server]:
    with Server.of(Settings(prometheus_url=SecretStr(prometheus.url))) as found:
        yield found


def new_store(path: Path) -> Store:
    return Store.open(f"sqlite:///{path}", migrate=True)


def filled(server: Server, store: Store) -> list[Backfill]:
    past = Past("test", HOURS * 3600, END, "default", LIMITS)
    return list(fill(past, lambda: Asking(server), (), store))


def tokens(store: Store) -> dict[str, tuple[float, ...]]:
    """By replica, over all of the past."""
    columns = ["prompt_tokens", "l0", "lower", "miss", "requests"]
    series = store.replica_series(START, END, Resolution.RAW, "default", "chat")
    return {str(name): tuple(row[columns]) for name, row in series.groupby("replica")[columns].sum().iterrows()}


def restarts(store: Store) -> int:
    return int(store.replica_series(START, END, Resolution.RAW, "default", "chat")["restarts"].sum())


def test_the_ledger_of_the_past_is_that_of_the_pages_themselves(server: Server, tmp_path: Path) -> None:
    with new_store(tmp_path / "pages.db") as from_pages, new_store(tmp_path / "prometheus.db") as from_server:
        list(backfill((json.dumps(line) for line in lines()), from_pages, "default", LIMITS))
        progress = filled(server, from_server)
        assert [one.is_done for one in progress if one.source == progress[-1].source][-1]
        assert tokens(from_server) == tokens(from_pages)
        assert restarts(from_server) == restarts(from_pages) == 1


def test_what_was_cut_off_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    with new_store(tmp_path / "whole.db") as whole, new_store(tmp_path / "cut.db") as cut:
        filled(server, whole)
        past = Past("test", HOURS * 3600, END, "default", LIMITS)
        some = fill(past, lambda: Asking(server), (), cut)
        begun, hour = next(some), next(some)
        del some
        assert (begun.share, hour.share) == (0, 1)  # the last hour is one chunk for so few replicas
        assert {one.source for one in filled(server, cut)} == {"the history of test"}
        assert all(one.is_done for one in cut.backfills("default"))
        assert tokens(cut) == tokens(whole)


def test_a_past_that_is_there_is_not_asked_for_again(server: Server, tmp_path: Path) -> None:
    with new_store(tmp_path / "prometheus.db") as store:
        filled(server, store)
        assert filled(server, store) == []
