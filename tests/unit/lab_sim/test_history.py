"""The simulated fleet's past as a recording, and its configuration file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from collectors.config import inventory_of
from lab.sim.command import ConfigFile
from lab.sim.day import EVENTS, plan
from lab.sim.fleet import Fleet
from lab.sim.history import WARM_UP_SECONDS, Stretch, recording
from lab.sim.scale import small
from tests.unit.lab_sim.scraping import BEGAN_AT, fleet
from tierdeck.routing import RoutingStrategy

END_AT = BEGAN_AT + WARM_UP_SECONDS + 300


def recorded() -> list[dict[str, Any]]:
    stretch = Stretch(BEGAN_AT + WARM_UP_SECONDS, END_AT, step_seconds=120)
    return [json.loads(json.dumps(line)) for line in recording(small, 1, stretch)]


def test_a_recording_names_its_fleet_and_has_every_target_at_every_moment() -> None:
    first, *lines = recorded()
    inventory = inventory_of(first["fleet"], "default", "recording")
    owners = {(one.name, replica.key.replica) for one in inventory.endpoints for replica in one.replicas}
    owners |= {(pool.key.replica, "_fleet") for pool in inventory.pools}
    # moments at 0, 120, 240 and, since a step would lead beyond it, the end
    moments = [first["start_at"], first["start_at"] + 120, first["start_at"] + 240, END_AT]
    assert sorted({line["at"] for line in lines}) == moments
    for at in moments:
        assert {(line["owner"], line["replica"]) for line in lines if line["at"] == at} == owners
    chat = next(line for line in lines if line["replica"] == "chat-0")
    assert set(chat["bodies"]) == {"vllm", "lmcache-mp"}


def test_the_same_seed_gives_the_same_recording() -> None:
    assert recorded() == recorded()


def test_a_day_has_events_and_ends_as_the_fleet_is_by_default() -> None:
    simulated = fleet(requests_per_second=1e-6)
    end_at = BEGAN_AT + 86_400
    plan(simulated, end_at)
    strategies, faults = set(), set()
    for hours, _ in EVENTS:
        simulated.catch_up(end_at - hours * 3600 + 1)
        strategies.add(simulated.endpoints["chat"].strategy)
        faults |= set(simulated.faults)
    simulated.catch_up(end_at)
    assert strategies == {RoutingStrategy.ROUNDROBIN, RoutingStrategy.PREFIXAWARE}
    assert faults == {"worker-loss", "l2-writes-lost", "replica-restart"}
    assert simulated.faults == {}
    assert simulated.endpoints["chat"].strategy is RoutingStrategy.ROUNDROBIN


def test_events_before_the_first_moment_are_left_out() -> None:
    simulated = fleet(requests_per_second=1e-6)
    plan(simulated, BEGAN_AT + 3 * 3600)
    simulated.catch_up(BEGAN_AT + 3 * 3600)
    assert simulated.faults == {}


def test_a_warm_fleet_counts_from_its_start_with_full_tiers() -> None:
    simulated = fleet(requests_per_second=2.0)
    simulated.advance(600)
    simulated.count_anew()
    replicas = simulated.endpoints["chat"].replicas
    for replica in replicas:
        page = text_samples(replica.render_engine())
        assert page["vllm:prefix_cache_queries_total"] == replica.truth.prompt_tokens == 0
        assert BEGAN_AT + 599 <= page["process_start_time_seconds"] <= BEGAN_AT + 600
        assert len(replica.cache.l1) > 0
    simulated.advance(60)
    for replica in replicas:
        assert (
            text_samples(replica.render_engine())["vllm:prefix_cache_queries_total"] == replica.truth.prompt_tokens > 0
        )


def test_no_two_processes_start_in_the_same_millisecond() -> None:
    starts = [
        text_samples(replica.render_engine())["process_start_time_seconds"]
        for endpoint in Fleet(small(), 1, BEGAN_AT).endpoints.values()
        for replica in endpoint.replicas
    ]
    assert len(set(starts)) == len(starts)


def text_samples(text: str) -> dict[str, float]:
    """Values by name, labels dropped: only for names with one series."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.partition("{")[0].partition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_the_configuration_file_follows_replicas_and_strategies(tmp_path: Path) -> None:
    path, simulated = tmp_path / "deck.yaml", Fleet(small(), 1, BEGAN_AT)
    config = ConfigFile(path)
    config.keep(simulated, "http://127.0.0.1:1")
    before = path.stat().st_mtime_ns
    config.keep(simulated)
    assert path.stat().st_mtime_ns == before
    simulated.endpoints["chat"].scale(5)
    simulated.endpoints["rag"].set_strategy(RoutingStrategy.SESSION)
    config.keep(simulated)
    chat, rag, _ = yaml.safe_load(path.read_text())["endpoints"]
    assert [replica["name"] for replica in chat["replicas"]] == [f"chat-{number}" for number in range(5)]
    assert chat["replicas"][4]["targets"]["vllm"] == "http://127.0.0.1:1/chat/chat-4/vllm/metrics"
    assert rag["strategy"] == "session"
