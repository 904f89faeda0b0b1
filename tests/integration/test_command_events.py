"""`tierdeck events` and what `endpoints` tells of deployments, as a child process."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from db import Store
from tests.integration.test_command import tierdeck
from tests.support.console_store import Habit, Made, fill
from tests.support.seen_fleet import CHAT, RAG, fill_watched


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("home")
    fill_watched(f"sqlite:///{found}/tierdeck.db", time.time(), seconds=300)
    return found


def test_events_are_one_document_newest_first(home: Path) -> None:
    found = json.loads(tierdeck(home, "events", "--json").stdout)["events"]
    kinds = ["restart", "node_gone", "rollout", "drift", "oom", "routing_changed"]
    assert [one["kind"] for one in found] == kinds
    assert set(found[0]) == {"at", "cluster", "endpoint", "replica", "kind", "subject", "words", "detail"}
    ages = [datetime.now(UTC) - datetime.fromisoformat(one["at"]) for one in found]
    assert ages == sorted(ages)
    assert found[0]["detail"] == {"by": "kubelet"}


def test_events_are_chosen_by_endpoint_kind_and_time(home: Path) -> None:
    def kinds(*args: str) -> list[str]:
        return [one["kind"] for one in json.loads(tierdeck(home, "events", *args, "--json").stdout)["events"]]

    assert kinds("rag") == kinds(RAG) == ["rollout"]
    assert kinds("chat", "--kind", "oom", "--kind", "node-gone") == ["node_gone", "oom"]
    assert kinds("--limit", "1") == ["restart"]
    assert "routing_changed" not in kinds("chat", "--since", "11m")  # it was 800 s ago


def test_events_speak_to_people(home: Path) -> None:
    lines = tierdeck(home, "events").stdout.splitlines()
    assert lines[0].split("  ")[0] == "time (UTC)"
    assert "(pool curvine/main)" in lines[1]
    assert "chat-1: vllm ran out of memory and restarted" in lines[5]
    assert (
        tierdeck(home, "events", "--since", "1s").stdout
        == "Nothing happened in the last 1s. `--since` looks further back.\n"
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["events", "chta"], "there is no endpoint 'chta'. Known: inference/chat, inference/rag."),
        (["events", "--kind", "fire"], "there is no kind of event 'fire'. Kinds: appeared, gone, "),
        (["events", "--since", "soon"], "'soon' is not a duration"),
        (["ledger", "chta"], "there is no endpoint 'chta'. Known: inference/chat, inference/rag."),
    ],
)
def test_what_can_t_be_asked_is_one_line(home: Path, args: list[str], says: str) -> None:
    done = tierdeck(home, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())


def test_an_endpoint_that_is_gone_has_its_past(home: Path) -> None:
    with Store.open(f"sqlite:///{home}/tierdeck.db") as store:
        before = [one for one in store.endpoints() if one.name != RAG]
        kept = store.endpoints()
        store.declare("prod-usw2", before, [], "test", "a test")
    try:
        assert "rolls out revision 4" in tierdeck(home, "events", RAG).stdout
    finally:
        with Store.open(f"sqlite:///{home}/tierdeck.db") as store:
            store.declare("prod-usw2", kept, [], "test", "a test")


def test_without_a_controller_events_say_what_to_do(tmp_path: Path) -> None:
    now = time.time()
    fill(f"sqlite:///{tmp_path}/tierdeck.db", [Made("chat", [Habit()])], now - 60, now)
    assert "Start one with `tierdeck up --kubernetes`." in tierdeck(tmp_path, "events").stdout
    assert json.loads(tierdeck(tmp_path, "events", "--json").stdout)["events"] == []


def test_a_short_name_is_enough_where_one_endpoint_has_it(home: Path, tmp_path: Path) -> None:
    short, full = (json.loads(tierdeck(home, "ledger", name, "--json").stdout) for name in ("chat", CHAT))
    assert list(short["replicas"]) == list(full["replicas"])
    now = time.time()
    several = [Made("inference/chat", [Habit()]), Made("staging/chat", [Habit()])]
    fill(f"sqlite:///{tmp_path}/tierdeck.db", several, now - 60, now)
    done = tierdeck(tmp_path, "ledger", "chat")
    assert done.returncode == 2
    assert "'chat' fits 2 endpoints: inference/chat, staging/chat. Name one of them in full." in done.stderr


def test_endpoints_tell_how_each_tier_is_configured_runs_and_is_used(home: Path) -> None:
    fresh = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "250"}  # it stays so until the last test
    chat, rag = json.loads(tierdeck(home, "endpoints", "--json", **fresh).stdout)["endpoints"]
    assert chat["sizes"] == {"l0_bytes": None, "l0_tokens": 480000, "l1_bytes": 96 * 2**30, "l2_bytes": None}
    tiers = chat["tiers"]
    assert tiers["L0"]["configured"] == {
        "bytes": None, "text": "--gpu-memory-utilization 0.9", "where": "args of vllm",
        "why": "the GPU's memory is not told",
    }  # fmt: skip
    assert tiers["L0"]["used"]["bytes"] is None
    assert tiers["L0"]["used"]["ratio"] == 0.62
    assert "kv_bytes_per_token" in tiers["L0"]["used"]["why"]
    assert tiers["L1"]["configured"]["bytes"] == 120 * 2**30
    assert tiers["L1"]["effective"]["bytes"] == 96 * 2**30
    assert tiers["L1"]["effective"]["where"] == "measured: the smallest replica's capacity"
    assert tiers["L1"]["used"]["bytes"] == 61 * 2**30
    assert tiers["L2"]["used"] == {"bytes": None, "ratio": None, "why": "no pool is scraped"}
    assert chat["drift"] == {
        "strategy": {"configured": "prefixaware", "effective": "roundrobin"},
        "L1": {"configured": "120 GiB", "effective": "96 GiB"},
    }
    assert [owner["tool"] for owner in chat["owners"]] == ["argo-cd", "keda"]
    assert chat["source"] == {"kind": "InferenceEndpointConfig", "namespace": "inference", "name": "chat"}
    assert chat["problems"] == ["two routers answer for this endpoint"]
    assert chat["routing"]["effective"]["value"] == "roundrobin"
    assert (rag["drift"], rag["problems"]) == ({}, [])
    text = tierdeck(home, "endpoints").stdout
    assert "strategy: configured prefixaware, running roundrobin  ≠ drift" in text
    assert "! two routers answer for this endpoint" in text


def test_endpoints_say_why_nothing_is_known_of_a_deployment(tmp_path: Path) -> None:
    now = time.time()
    fill(f"sqlite:///{tmp_path}/tierdeck.db", [Made("chat", [Habit()])], now - 60, now)
    (chat,) = json.loads(tierdeck(tmp_path, "endpoints", "--json").stdout)["endpoints"]
    assert chat["tiers"]["L1"]["configured"]["why"] == "no controller has seen this endpoint"
    assert chat["tiers"]["L1"]["effective"]["bytes"] == 96 * 2**30  # measured all the same
    assert (chat["owners"], chat["source"], chat["drift"]) == ([], None, {})
