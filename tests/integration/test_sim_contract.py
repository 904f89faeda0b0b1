"""The simulated expositions against recorded ones: families, types, label names and bounds of buckets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from collectors.families import spellings
from collectors.sources import BY_KIND
from lab.sim.fleet import Fleet
from lab.sim.scale import small
from tests.unit.lab_sim.scraping import BEGAN_AT
from tierdeck.fleet import SourceKind
from tierdeck.routing import RoutingStrategy

RECORDED = Path(__file__).parents[1] / "fixtures" / "expositions"

PRESSURE = Path(__file__).parents[2] / "lab" / "captures" / "pressure"


@dataclass
class Family:
    """What a contract can hold of a family."""

    type: str
    labels: set[frozenset[str]] = field(default_factory=set)
    bounds: set[tuple[str, ...]] = field(default_factory=set)


def families(text: str) -> dict[str, Family]:
    found: dict[str, Family] = {}
    for family in text_string_to_metric_families(text):
        if not family.samples:
            continue  # announced only
        kept = found.setdefault(family.name, Family(family.type))
        bounds: dict[frozenset[tuple[str, str]], list[str]] = {}
        for sample in family.samples:
            kept.labels.add(frozenset(sample.labels))
            if "le" in sample.labels:
                labels = frozenset((name, value) for name, value in sample.labels.items() if name != "le")
                bounds.setdefault(labels, []).append(sample.labels["le"])
        kept.bounds |= {tuple(each) for each in bounds.values()}
    return found


@cache
def simulated() -> Fleet:
    """The default fleet after half an hour, a fault in it so that what is born of failures is there, too."""
    fleet = Fleet(small(), 1, BEGAN_AT)
    fleet.advance(1500.0)
    fleet.pool.switches.writes = "full"
    fleet.advance(120.0)
    return fleet


def recorded(*names: str) -> dict[str, Family]:
    merged: dict[str, Family] = {}
    for name in names:
        for family, found in families(_file(name).read_text()).items():
            known = merged.setdefault(family, found)
            known.labels |= found.labels
            known.bounds |= found.bounds
    return merged


def _file(name: str) -> Path:
    """A record under the fixtures, or one of those that ship, of another process or moment than the lab's shapes."""
    return PRESSURE / name if "/" in name else RECORDED / name


PAGES = {
    "vllm": (("chat", "chat-0", "vllm"), ("vllm.txt", "B/180/vllm.txt")),
    "lmcache-mp": (
        ("chat", "chat-0", "lmcache-mp"),
        ("lmcache-mp-bench.txt", "lmcache-mp-retain.txt", "A/60/lmcache-mp.txt"),
    ),
    "lmcache-coordinator": (("chat", "_fleet", "lmcache-coordinator"), ("lmcache-coordinator.txt",)),
    "lmcache": (("batch", "batch-1", "lmcache"), ("lmcache.txt",)),
    "router": (("chat", "_fleet", "router"), ("router-cache_aware.txt", "router-round_robin.txt")),
    "curvine-master": (("curvine", "_fleet", "curvine-master"), ("curvine-master.txt",)),
    "curvine-worker": (("curvine", "_fleet", "curvine-worker.1"), ("curvine-worker.txt",)),
    "curvine-fuse": (("curvine", "_fleet", "curvine-fuse.chat-0"), ("curvine-fuse.txt",)),
}
MADE = {"lmcache:request_cache_hit_rate": "recorded without any request"}
UNLIKE = {
    "lmcache_mp_l2_evicted_objects_chunks": "only the record that the shape was taken from had one",
    "vllm:cache_config_info": "its labels are those of the configuration; all are held below",
}


@pytest.mark.parametrize("kind", PAGES)
def test_every_family_is_like_a_recorded_one(kind: str) -> None:
    address, records = PAGES[kind]
    real = recorded(*records)
    for name, family in families(simulated().body(*address)).items():
        if name in MADE or name in UNLIKE:
            continue
        assert name in real, name
        assert family.type == real[name].type, name
        assert family.labels <= real[name].labels, name
        assert family.bounds <= real[name].bounds, name


@pytest.mark.parametrize("kind", PAGES)
def test_every_family_that_tierdeck_reads_is_there(kind: str) -> None:
    page = families(simulated().body(*PAGES[kind][0]))
    for family in BY_KIND[SourceKind(kind)].families:
        newest = {spelling.name for spelling in spellings(family) if spelling.generation == 0}
        known = {name for name in page if name in newest or f"{name}_total" in newest}
        assert known, family.names


def test_vllm_has_every_recorded_family_of_its_own() -> None:
    page = families(simulated().body(*PAGES["vllm"][0]))
    real = {name for name in recorded("vllm.txt") if name.startswith("vllm:")}
    assert real <= set(page)
    config = "vllm:cache_config_info"
    assert page[config].labels == recorded("vllm.txt")[config].labels


def test_the_articles_vllm_lacks_what_came_later() -> None:
    page = families(simulated().body("batch", "batch-1", "vllm"))
    later = (
        "prompt_tokens_by_source",
        "prompt_tokens_cached",
        "num_requests_waiting_by_reason",
        "admission_rejections",
    )
    assert not [name for name in later if f"vllm:{name}" in page]
    newest = families(simulated().body(*PAGES["vllm"][0]))
    for name, family in page.items():
        if name != "vllm:cache_config_info":
            assert family == newest[name], name
    assert "vllm:external_prefix_cache_queries" in page
    assert page["vllm:time_to_first_token_seconds"].bounds == newest["vllm:time_to_first_token_seconds"].bounds
    assert not page["vllm:cache_config_info"].labels & newest["vllm:cache_config_info"].labels


def test_lmcache_counters_are_absent_until_their_first_event() -> None:
    fleet = Fleet(small(), 1, BEGAN_AT)
    page = families(fleet.body("chat", "chat-0", "lmcache-mp"))
    counted = [name for name, family in page.items() if family.type in ("counter", "histogram")]
    assert [name for name in counted if name.startswith("lmcache_mp_")] == ["lmcache_mp_event_bus_dropped_events"]
    fuse = families(fleet.body("curvine", "_fleet", "curvine-fuse.chat-0"))
    assert "curvine_fuse_errors" not in fuse
    assert "curvine_fuse_kernel_fd_health" in fuse


@pytest.mark.parametrize("strategy", RoutingStrategy)
def test_a_router_names_its_policy(strategy: RoutingStrategy) -> None:
    fleet = Fleet(small(), 1, BEGAN_AT)
    fleet.endpoints["chat"].set_strategy(strategy)
    fleet.advance(30.0)
    page = families(fleet.body("chat", "_fleet", "router"))
    assert ("vllm_router_prefix_routing_decisions" in page) == (strategy is RoutingStrategy.PREFIXAWARE)
    assert page["vllm_router_policy_decisions"].labels == {frozenset({"policy", "worker"})}


def test_production_stacks_router_copies_engine_series_as_gauges() -> None:
    page = families(simulated().body("rag", "_fleet", "router"))
    assert page["vllm:gpu_prefix_cache_hits_total"] == Family("gauge", {frozenset({"server"})})


def test_curvine_answers_in_json_as_composed() -> None:
    answer = json.loads(simulated().body("curvine", "_fleet", "curvine-master-api"))
    real = json.loads((RECORDED / "workers.json").read_text())
    assert set(answer) == set(real)
    assert set(answer["live_workers"][0]) <= set(real["live_workers"][0])
    assert set(answer["live_workers"][0]["address"]) == set(real["live_workers"][0]["address"])
    assert set(simulated().overview()) == set(json.loads((RECORDED / "overview.json").read_text()))


def test_every_page_parses_and_ends_its_lines() -> None:
    for target in simulated().targets():
        text = simulated().body(*target)
        if not target[2].endswith("-api"):
            assert text.endswith("\n"), target
            assert list(text_string_to_metric_families(text)), target


def test_what_a_mount_reads_and_writes_adds_up_in_all_its_families() -> None:
    samples = {
        (sample.name, sample.labels.get("io_type") or sample.labels.get("opcode", "")): sample.value
        for family in text_string_to_metric_families(simulated().body("curvine", "_fleet", "curvine-fuse.chat-0"))
        for sample in family.samples
        if "le" not in sample.labels and sample.labels.get("status", "success") == "success"
    }
    for kind, opcode in (("read", "Read"), ("write", "Write")):
        requests = samples["curvine_fuse_io_requests_total", kind]
        assert requests > 1000
        assert samples["curvine_fuse_io_duration_us_count", kind] == requests
        assert samples["curvine_fuse_request_duration_us_count", opcode] == requests
        # a chunk of 256 tokens of 57,344 bytes is 112 requests of 128 KiB
        assert samples["curvine_fuse_io_size_bytes_sum", kind] == samples["curvine_fuse_io_bytes_total", kind]
        assert samples["curvine_fuse_io_bytes_total", kind] == requests * 131_072
