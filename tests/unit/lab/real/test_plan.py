"""Ports, command lines and the deck's configuration, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from collectors.config import read_config
from lab.real import commands
from lab.real.deck import deck_document
from lab.real.layout import POLICIES, Layout, free_ports, lay_out
from tierdeck.fleet import FLEET
from tierdeck.routing import RoutingStrategy


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return lay_out(tmp_path / "fleet", tmp_path / "model", tmp_path / "short")


def value(command: list[str], flag: str) -> str:
    return command[command.index(flag) + 1]


def every_command(layout: Layout) -> list[list[str]]:
    found = [commands.coordinator(layout), *(commands.router(layout, strategy) for strategy in RoutingStrategy)]
    for replica in layout.replicas:
        found += [commands.cache_server(layout, replica), commands.engine(layout, replica)]
    return found


def test_no_port_is_given_out_twice() -> None:
    assert len(set(free_ports(200))) == 200


def test_everything_listens_on_the_loopback_only(layout: Layout) -> None:
    for command in every_command(layout):
        hosts = [command[i + 1] for i, part in enumerate(command) if part.endswith("host") and part.startswith("--")]
        assert set(hosts) == {"127.0.0.1"}
        assert "0.0.0.0" not in " ".join(command)
        assert "*" not in " ".join(command)


def test_an_engine_and_its_cache_server_meet_and_all_cache_servers_share_l2(layout: Layout) -> None:
    folders = set()
    for replica in layout.replicas:
        server, engine = commands.cache_server(layout, replica), commands.engine(layout, replica)
        transfer = json.loads(value(engine, "--kv-transfer-config"))
        assert transfer["kv_connector_extra_config"]["lmcache.mp.port"] == int(value(server, "--port"))
        folders.add(json.loads(value(server, "--l2-adapter"))["base_path"])
    assert folders == {str(layout.l2)}


def test_each_strategy_has_a_policy_of_its_own(layout: Layout) -> None:
    policies = [value(commands.router(layout, strategy), "--policy") for strategy in RoutingStrategy]
    assert policies == ["round_robin", "consistent_hash", "cache_aware", "kv_aware"]
    assert set(POLICIES) == set(RoutingStrategy)


def test_kvaware_hears_the_events_of_every_engine(layout: Layout) -> None:
    command = commands.router(layout, RoutingStrategy.KVAWARE)
    sources = [command[i + 1] for i, part in enumerate(command) if part == "--kv-event-source"]
    assert sources == [f"{one.engine}=tcp://127.0.0.1:{one.events_port}" for one in layout.replicas]
    assert "--kv-event-source" not in commands.router(layout, RoutingStrategy.ROUNDROBIN)


def test_nothing_asks_a_hub_or_sends_statistics() -> None:
    assert commands.ENVIRONMENT["HF_HUB_OFFLINE"] == commands.ENVIRONMENT["VLLM_NO_USAGE_STATS"] == "1"


def test_a_deck_can_be_pointed_at_it(layout: Layout, tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(yaml.safe_dump(deck_document(layout, RoutingStrategy.SESSION, "http://127.0.0.1:1/metrics")))
    inventory = read_config(path, "default")
    real, embedded = inventory.endpoints
    assert (real.name, real.strategy, real.model) == ("real", RoutingStrategy.SESSION, "tiny")
    assert [replica.key.replica for replica in real.replicas] == ["a", "b", FLEET]
    # an engine and a cache server each, router and coordinator, and LMCache alone
    assert sum(len(replica.targets) for replica in (*real.replicas, *embedded.replicas)) == 2 + 2 + 2 + 1
