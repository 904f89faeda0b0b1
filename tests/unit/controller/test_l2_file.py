"""The file of L2 policies: read strictly, with faults in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.l2_file import L2Source
from tierdeck.errors import UsageError
from tierdeck.l2.file import parse_l2
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import Wiring

WHOLE = """
enabled: true
defaults: {claim: curvine-pvc, min_retrieve_tokens: 512}
endpoints:
  inference/chat: {mount_path: /mnt/l2, hash_seed: 7, metrics: true, model_revision: v3}
  inference/draft: {opted_in: false}
"""


def test_an_endpoint_has_its_own_options_over_those_of_all() -> None:
    file = parse_l2(WHOLE, "l2.yaml")
    found = file.listed(["inference/none", "inference/chat"])
    assert found is not None
    assert found[0] == "inference/chat"
    policy = found[1].over(file.defaults).policy("the file")
    assert policy == L2Policy("the file", "curvine-pvc", "/mnt/l2", "7", 512, True, "v3")


def test_without_a_file_nobody_is_listed() -> None:
    file = L2Source(None).file
    assert file.enabled
    assert file.listed(["inference/chat"]) is None
    assert file.defaults.policy("nothing") is None
    assert parse_l2("", "empty.yaml") == file


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("claim: a", "claim: there is no such key"),
        ("endpoints: {chat: {claim: a}}", "endpoints.chat: namespace/name is needed"),
        ("endpoints: {a/b: {claim: Not_A_Name}}", "endpoints.a/b.claim"),
        ("defaults: {mount_path: relative}", "defaults.mount_path"),
        ("defaults: {mount_path: '/a,b'}", "defaults.mount_path"),
        ("defaults: {hash_seed: random}", "defaults.hash_seed: a whole number is needed"),
        ("defaults: {min_retrieve_tokens: -1}", "a number of at least 0 is needed"),
        ("enabled: perhaps", "enabled: true or false is needed"),
        ("endpoints: {a/b: {claim: a}, a/b: {claim: b}}", "a/b is given twice"),
    ],
)
def test_a_fault_is_named_by_its_key(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_l2(text, "l2.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"l2\.yaml: No such file"):
        L2Source(tmp_path / "l2.yaml")


def test_a_file_that_breaks_later_changes_nothing_and_is_said(tmp_path: Path) -> None:
    path = tmp_path / "l2.yaml"
    path.write_text(WHOLE, "utf-8")
    source = L2Source(path)
    path.write_text("enabled: [", "utf-8")
    assert not source.look()
    assert source.file.enabled
    assert "not YAML" in source.trouble
    path.write_text("enabled: false", "utf-8")
    assert source.look()
    assert (source.file.enabled, source.trouble) == (False, "")
    assert not source.look()


def test_the_address_ends_in_the_models_own_directory() -> None:
    wiring = Wiring(L2Policy("a test", "curvine-pvc"), "llama-1")
    assert wiring.url == "fs://localhost:0/mnt/curvine/l2cache/llama-1/"
    assert {one.name: (one.value, one.replaces) for one in wiring.variables()} == {
        "LMCACHE_REMOTE_URL": (wiring.url, True),
        "LMCACHE_REMOTE_SERDE": ("naive", True),
        "PYTHONHASHSEED": ("0", False),
    }


@pytest.mark.parametrize("path", ["/a/../b", "/-", "/", "a", "/a,b", "/a b"])
def test_a_mount_path_is_one_that_lmcache_can_read(path: str) -> None:
    with pytest.raises(ValueError, match="can't be a mount path"):
        L2Policy("a test", "curvine-pvc", path)
