"""What counts as a version, where it is asked for, and when a stated one is the one that was told."""

import pytest

from collectors.versions import agree, parse_version, read_version, version_url
from tierdeck.fleet import Replica, ReplicaKey, Target

KEY = ReplicaKey("c", "e", "r")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"version": "0.32.0"}', "0.32.0"),  # vLLM
        ('"0.5.6-g3e11e108"', "0.5.6"),  # LMCache: version and commit
        ('"NA-g3e11e108"', ""),
        ('"NA-NA"', ""),
        ("0.32.0\n", "0.32.0"),
        ("v0.10.2", "v0.10.2"),
        ('{"version": "0.12.0rc1+cu128"}', "0.12.0rc1+cu128"),
        ('{"version": "0.5.7.dev12+g3e11e108"}', "0.5.7.dev12+g3e11e108"),
        ('{"version": null}', ""),
        ('{"version": {"vllm": "0.32.0"}}', ""),
        ('{"detail": "Not Found"}', ""),
        ('["0.32.0"]', ""),
        ("dev", ""),
        ("7", ""),
        ("", ""),
        ("<html><body>0.32.0</body></html>", ""),
        ("vllm:prefix_cache_queries_total 0.32\n", ""),
        ("0.32.0\n0.33.0\n", ""),
        ("[" * 10_000, ""),
        ("1." + "1" * 10_000, ""),
    ],
)
def test_only_what_is_a_version_is_read_as_one(text: str, version: str) -> None:
    assert read_version(text) == version


@pytest.mark.parametrize(
    ("metrics", "asked"),
    [
        ("http://10.0.0.7:8000/metrics", "http://10.0.0.7:8000/version"),
        ("http://10.0.0.7:8000/metrics/", "http://10.0.0.7:8000/version"),
        ("http://10.0.0.7:8000/metrics?engine=0", "http://10.0.0.7:8000/version"),
        ("https://proxy/chat/chat-0/metrics", "https://proxy/chat/chat-0/version"),
    ],
)
def test_the_version_is_asked_for_beside_the_metrics(metrics: str, asked: str) -> None:
    assert version_url(Target(KEY, "vllm", metrics)) == asked


@pytest.mark.parametrize(
    ("stated", "told", "same"),
    [
        ("0.32.0", "0.32.0", True),
        ("v0.32.0", "0.32.0", True),
        ("0.32.0", "0.32.0+cpu", True),
        ("0.32.0+cpu", "0.32.0", True),
        ("0.5.6-g3e11e108", "0.5.6", True),
        ("0.32.0+cpu", "0.32.0+cu128", False),
        ("0.32", "0.32.0", False),
        ("0.12.0", "0.12.0rc1", False),
        ("0.11.1", "0.32.0", False),
    ],
)
def test_a_stated_version_differs_unless_only_a_build_is_left_out(stated: str, told: str, same: bool) -> None:
    assert agree(stated, told) is same


def test_versions_compare_as_numbers() -> None:
    assert parse_version("v0.11.1rc2") == (0, 11, 1)
    assert parse_version("0.9.2") < parse_version("0.11.1")  # type: ignore[operator]  # both are versions
    assert parse_version("dev") is None


def test_what_a_process_tells_wins_over_what_is_stated_and_two_that_differ_are_none() -> None:
    targets = tuple(Target(KEY, name, "http://h/metrics") for name in ("vllm.1", "vllm.2", "lmcache-mp", "router"))
    replica = Replica(KEY, targets, versions=(("router", "v1.2"), ("vllm", "0.11.1")))
    told = replica.told({"vllm.1": "0.32.0", "vllm.2": "", "lmcache-mp": "0.5.6", "router": ""})
    assert dict(told.versions) == {"lmcache": "0.5.6", "router": "v1.2", "vllm": "0.32.0"}
    assert dict(replica.told({"vllm.1": "0.32.0", "vllm.2": "0.11.1"}).versions) == {"router": "v1.2"}
    assert replica.told({}) == replica
