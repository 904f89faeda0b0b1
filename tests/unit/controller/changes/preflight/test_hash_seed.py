"""Engines that share a cache, and nodes that are full: said before a change."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.preflight import preflight
from tests.support.preflight import Manifest, edit, engine, l1_of, look, node, plan, pods_of
from tierdeck.changes.plan import ABSENT
from tierdeck.changes.wish import Wish

ROUTE = Wish(strategy="session")
SHARED = {"name": "LMCACHE_REMOTE_URL", "value": "fs://localhost:0/mnt/l2/"}
ENV = ("spec", "template", "spec", "containers", "[name=vllm]", "env", "[name=PYTHONHASHSEED]")


def with_env(*entries: dict[str, Any]) -> Manifest:
    made = engine()
    made["spec"]["template"]["spec"]["containers"][0]["env"] += entries
    return made


def seeds_of(*manifests: Manifest, **more: Any) -> list[str]:
    found = preflight(look(*manifests), plan(**more), l1_of(40))
    return [one for one in found.warnings if "PYTHONHASHSEED" in one]


def test_a_shared_cache_without_a_seed_is_said() -> None:
    (told,) = seeds_of(with_env(SHARED))
    assert told.startswith("Deployment llm/chat shares a cache (LMCACHE_REMOTE_URL) and states no PYTHONHASHSEED:")


@pytest.mark.parametrize("seed", ["random", "Random"])
def test_a_seed_that_is_drawn_by_each_process_is_none(seed: str) -> None:
    (told,) = seeds_of(with_env(SHARED, {"name": "PYTHONHASHSEED", "value": seed}))
    assert "states PYTHONHASHSEED random" in told


@pytest.mark.parametrize(
    "entries",
    [
        (),  # nothing is shared
        (SHARED, {"name": "PYTHONHASHSEED", "value": "0"}),
        (SHARED, {"name": "LMCACHE_PRE_CACHING_HASH_ALGORITHM", "value": "sha256_cbor"}),
    ],
)
def test_nothing_is_said_where_prompts_are_named_alike(entries: tuple[dict[str, Any], ...]) -> None:
    assert seeds_of(with_env(*entries)) == []


def test_a_cache_that_was_injected_at_admission_counts() -> None:
    made = engine()
    pods = pods_of(made, "n1", "n2")
    for pod in pods[1:]:
        pod["spec"]["containers"][0]["env"].append(SHARED)
    assert len(seeds_of(made, *pods, node("n1"), node("n2"))) == 1


def test_a_plan_that_takes_the_seed_away_is_told_so() -> None:
    seeded = {"name": "PYTHONHASHSEED", "value": "0"}
    found = preflight(look(with_env(SHARED, seeded)), plan(edit(ENV, ABSENT, seeded)), l1_of(40))
    assert [one for one in found.warnings if "states no PYTHONHASHSEED" in one]


@pytest.mark.parametrize(
    ("kind", "status", "count"),
    [("DiskPressure", "True", 1), ("DiskPressure", "False", 0), ("MemoryPressure", "True", 1), ("Ready", "True", 0)],
)
def test_a_node_that_evicts_is_named(kind: str, status: str, count: int) -> None:
    made, full = engine(), node("n2")
    full["status"]["conditions"].append({"type": kind, "status": status})
    found = preflight(look(made, *pods_of(made, "n1", "n2"), node("n1"), full), plan(), ROUTE)
    told = [one for one in found.warnings if one.startswith("Node n2, on which pods of Deployment llm/chat run,")]
    assert len(told) == count
