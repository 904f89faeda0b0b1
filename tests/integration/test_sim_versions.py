"""Versions in the simulated lab: what its processes answer, and what a collector and the deck make of a roll-out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from collectors.bundle import save_bundle
from collectors.config import inventory_of
from collectors.explain import explain
from collectors.fetch import Fetcher
from collectors.replica_task import ReplicaTask
from collectors.snapshot import read_snapshot
from console.cli import reading, tables
from db import Store
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from lab.sim.fleet import NoAnswerError
from lab.sim.inventory import sim_config, url_path
from lab.sim.server import Server, serve
from tests.unit.lab_sim.faulty import WHERE, by_name
from tests.unit.lab_sim.scraping import EMBEDDED, MP, OLDER, Scraper, fleet
from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint
from tierdeck.rounds import Round
from tierdeck.settings import Settings


def engine_upgraded() -> None:
    scraper = Scraper(fleet(forms=(EMBEDDED, MP)))
    with pytest.raises(UsageError, match="chat-1 has no LMCache inside vLLM"):
        scraper.fleet.switch(BY_NAME["engine-upgraded"], FaultTarget("chat", "chat-1"), on=True)
    assert scraper.fleet.version("chat", "chat-0", "vllm") == '{"version": "0.11.1"}'
    scraper.fleet.switch(BY_NAME["engine-upgraded"], WHERE, on=True)
    scraper.fleet.advance(60.0)
    assert scraper.fleet.version("chat", "chat-0", "vllm") == '{"version": "0.32.0"}'
    assert scraper.fleet.endpoints["chat"].replicas[0].truth.restarts == 1
    assert "prompt_tokens_by_source" in scraper.text("chat-0", "vllm")
    assert "lmcache_mp_lookup" in scraper.text("chat-0", "lmcache-mp")


def version_silent() -> None:
    scraper = _untold("version-silent")
    for source in ("vllm", "lmcache-mp"):
        with pytest.raises(NoAnswerError) as silent:
            scraper.fleet.version("chat", "chat-0", source)
        assert silent.value.hangs


def version_page() -> None:
    scraper = _untold("version-page")
    assert {scraper.fleet.version("chat", "chat-0", source)[:9] for source in ("vllm", "lmcache-mp")} == {"<!DOCTYPE"}


def _untold(name: str) -> Scraper:
    """With the fault on at the first replica: its pages, and the second's version, are what they were."""
    scraper, good = Scraper(fleet()), Scraper(fleet())
    scraper.fleet.switch(BY_NAME[name], WHERE, on=True)
    for one in (scraper, good):
        one.run(60.0)
    assert scraper.text("chat-0", "vllm") == good.text("chat-0", "vllm")
    assert scraper.fleet.version("chat", "chat-1", "vllm") == '{"version": "0.32.0"}'
    return scraper


STATED = (("lmcache", "0.5.6"), ("vllm", "0.10.2"))
QUICK = Settings(scrape_interval_seconds=2, scrape_timeout_seconds=1.0)
CHECKS = by_name(engine_upgraded, version_silent, version_page)


@pytest.mark.parametrize("name", CHECKS)
def test_what_one_sees_of_a_fault(name: str) -> None:
    CHECKS[name]()


class Clock:
    """The lab's wall clock, which a test moves."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Lab:
    """A served fleet, and a live collector's task for each replica of its configuration."""

    def __init__(self, server: Server, clock: Clock, address: str, fetcher: Fetcher) -> None:
        self.fleet, self._server, self._clock, self.address, self._fetcher = (
            server.fleet, server, clock, address, fetcher,
        )  # fmt: skip
        self._tasks: list[ReplicaTask] = []
        self.rounds: list[Round] = []

    def endpoint(self) -> Endpoint:
        """As the lab's configuration has it now, but with versions that are right for `chat-0` as it begins alone."""
        document = sim_config(self.fleet, lambda *names: self.address + url_path(*names))
        (found,) = inventory_of(document, "default", "the lab").endpoints
        own = [replace(each, versions=STATED) for each in found.replicas if not each.key.shared]
        return replace(found, replicas=tuple(own))

    def collect(self) -> None:
        """Collect what the configuration has now; what was known of a replica goes on."""
        memories = {one.key: one.memory for one in self.rounds}
        self._tasks = [
            ReplicaTask(each, self._fetcher, self.rounds.append, 2.0, memories.get(each.key))
            for each in self.endpoint().replicas
        ]

    async def round(self) -> dict[str, Round]:
        """Fifteen seconds later, a round of each replica."""
        self._clock.now += 15
        self._server.advance()
        found = [await task.round() for task in self._tasks]
        self.rounds += found
        return {one.key.replica: one for one in found}


@asynccontextmanager
async def watched() -> AsyncIterator[Lab]:
    made = fleet(forms=(OLDER, MP))
    clock = Clock(made.timeline.began_at)
    server = Server(made, clock)
    async with serve(server) as address, Fetcher(QUICK) as fetcher:
        lab = Lab(server, clock, address, fetcher)
        lab.collect()
        yield lab


def versions(part: Round) -> dict[str, str]:
    return {scrape.target.name: scrape.version for scrape in part.scrapes}


def stored(home: Path, lab: Lab) -> Settings:
    """The deck's settings, with all rounds in its store."""
    settings = Settings(home=home)
    with Store.open(settings.store_url, migrate=True) as store:
        store.declare("default", [lab.endpoint()], [], "config", "a test")
        store.append(lab.rounds)
    return settings


def shown(settings: Settings) -> Any:
    """The one endpoint of `tierdeck endpoints --json`."""
    document: Any = reading.endpoints(settings)
    (found,) = document["endpoints"]
    return found


def of_targets(settings: Settings) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    """Told and stated version by replica and target, of `tierdeck targets --json`."""
    document: Any = reading.targets(settings)
    return {(row["replica"], row["target"]): (row["version"], row["stated_version"]) for row in document["targets"]}


async def test_engines_and_caches_answer_as_the_real_ones_do() -> None:
    async with watched() as lab, aiohttp.ClientSession() as session:
        found = {}
        for path in ("chat-0/vllm", "chat-0/lmcache", "chat-1/lmcache-mp", "_fleet/router", "chat-0/lmcache-mp"):
            async with session.get(f"{lab.address}/chat/{path}/version") as answer:
                found[path] = (answer.status, await answer.text())
    assert found["chat-0/vllm"] == (200, '{"version": "0.10.2"}')
    assert found["chat-0/lmcache"] == found["chat-1/lmcache-mp"] == (200, '"0.5.6-g3e11e108"')
    assert found["_fleet/router"][0] == found["chat-0/lmcache-mp"][0] == 404


async def test_a_roll_out_is_recorded_with_both_versions(tmp_path: Path) -> None:
    async with watched() as lab:
        first = [await lab.round() for _ in range(4)][-1]
        lab.fleet.switch(BY_NAME["engine-upgraded"], WHERE, on=True)
        lab.collect()
        down, _, last = [await lab.round() for _ in range(3)]
        settings = stored(tmp_path, lab)
        await save_bundle(tmp_path / "bundle", [lab.endpoint()], [], QUICK, 1.0, lambda _: None)
    assert versions(first["chat-0"]) == {"vllm": "0.10.2", "lmcache": "0.5.6"}
    assert versions(down["chat-0"])["vllm"] == "0.10.2"  # it is down: the last that is known
    assert versions(last["chat-0"]) == versions(last["chat-1"]) == {"vllm": "0.32.0", "lmcache-mp": "0.5.6"}

    assert shown(settings)["versions"] == {one: {"lmcache": "0.5.6", "vllm": "0.32.0"} for one in ("chat-0", "chat-1")}
    assert of_targets(settings)["chat-0", "vllm"] == ("0.32.0", "0.10.2")
    assert "0.32.0 (stated: 0.10.2)" in tables.targets(reading.targets(settings))

    document: Any = reading.ledger(settings, "chat", 900)
    notes = document["replicas"]["chat-0"]["notes"]
    said = {(note["code"], note["detail"]) for note in notes}
    assert ("restarted", "an engine of another version answers: vLLM 0.10.2 before, now 0.32.0") in said
    recounted = "before vLLM 0.11.1 preempted requests are looked up, and counted, once more"
    assert ("meaning_changed", recounted) in said

    snapshot = read_snapshot(tmp_path / "bundle")
    assert snapshot.replica("chat-0").version("vllm") == "0.32.0"
    assert "chat-0" in explain(snapshot, settings.warming)["replicas"]  # type: ignore[operator]


@pytest.mark.parametrize("name", ["version-silent", "version-page"])
async def test_a_version_that_is_not_told_leaves_what_is_stated_and_costs_no_scrape(tmp_path: Path, name: str) -> None:
    async with watched() as lab:
        lab.fleet.switch(BY_NAME[name], WHERE, on=True)
        part = await lab.round()
        settings = stored(tmp_path, lab)
    assert versions(part["chat-0"]) == {"vllm": "", "lmcache": ""}
    assert versions(part["chat-1"]) == {"vllm": "0.32.0", "lmcache-mp": "0.5.6"}
    assert all(scrape.ok for one in part.values() for scrape in one.scrapes)
    assert of_targets(settings)["chat-0", "vllm"] == (None, "0.10.2")
    assert shown(settings)["versions"]["chat-0"] == {"lmcache": "0.5.6", "vllm": "0.10.2"}


async def test_a_bundle_of_several_endpoints_has_a_folder_of_each_whatever_their_names(tmp_path: Path) -> None:
    async with watched() as lab:
        names = [("east", "inference/chat"), ("east", "inference_chat"), ("west", "inference/chat")]
        several = [replace(lab.endpoint(), cluster=cluster, name=name) for cluster, name in names]
        homes = await save_bundle(tmp_path / "bundle", several, [], QUICK, 1.0, lambda _: None)
    folders = ["inference_chat", "east_inference_chat", "west_inference_chat"]
    assert [home.relative_to(tmp_path / "bundle").as_posix() for home in homes] == folders
    assert all(len(read_snapshot(home).moments) == 2 for home in homes)
    with pytest.raises(UsageError, match="several endpoints: east_inference_chat, inference_chat, west_"):
        read_snapshot(tmp_path / "bundle")
