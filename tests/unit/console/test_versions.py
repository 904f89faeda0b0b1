"""Versions in words."""

from __future__ import annotations

from console.versions import version_column, version_words
from tierdeck.fleet import FLEET, Replica, ReplicaKey, Target


def replica(name: str, *targets: str, **versions: str) -> Replica:
    key = ReplicaKey("c", "e", name)
    own = tuple(Target(key, target, "http://h/metrics") for target in targets)
    return Replica(key, own, versions=tuple(sorted(versions.items())))


def test_replicas_that_agree_are_one_line_and_no_column() -> None:
    same = [replica(name, "vllm", "lmcache-mp", vllm="0.32.0", lmcache="0.5.6") for name in "ab"]
    shared = replica(FLEET, "router", router="v0.1.17")
    assert version_words([*same, shared]) == "vLLM 0.32.0, LMCache 0.5.6, router v0.1.17"
    assert version_column([*same, shared]) == {}


def test_replicas_that_differ_have_a_column_and_what_is_not_told_is_said() -> None:
    mixed = [replica("a", "vllm", vllm="0.11.1"), replica("b", "vllm", "lmcache", vllm="0.32.0")]
    assert version_words(mixed) == "vLLM 0.11.1 and 0.32.0, LMCache unknown"
    assert version_column(mixed) == {"a": "vLLM 0.11.1", "b": "vLLM 0.32.0, LMCache unknown"}


def test_where_no_process_tells_its_version_that_is_said_once() -> None:
    assert version_words([replica("a", "vllm", "lmcache-mp"), replica("b", "vllm")]) == "versions not told"


def test_an_endpoint_without_engine_or_cache_has_no_versions() -> None:
    assert version_words([replica("a", "router")]) == ""
