"""The configuration file: complete ones are taken whole, broken ones refused in one line that names the key."""

import re
from pathlib import Path

import pytest

from collectors.config import read_config
from tierdeck.errors import UsageError
from tierdeck.fleet import Role

WHOLE = """
endpoints:
  - name: chat
    model: llama
    strategy: prefixaware
    kv_bytes_per_token: 57344
    replicas:
      - name: a
        role: kv_consumer
        versions: {vllm: "0.32.0"}
        targets: {vllm: "http://10.0.0.7:8000", lmcache-mp: "http://10.0.0.7:8080/"}
      - name: b
        targets: {vllm: "http://10.0.0.8:8000/other/metrics"}
    shared: {router.1: "http://10.0.0.9:29000"}
pools:
  - name: curvine
    targets: {curvine-master: "http://10.0.1.1:9000", curvine-master-api: "http://10.0.1.1:9000"}
"""


def test_a_whole_file_becomes_an_inventory(tmp_path: Path) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(WHOLE)
    inventory = read_config(path, "prod")
    (endpoint,) = inventory.endpoints
    a, b, shared = endpoint.replicas
    assert (endpoint.cluster, endpoint.model, endpoint.strategy) == ("prod", "llama", "prefixaware")
    assert (a.role, a.version("vllm"), b.role) == (Role.CONSUMER, "0.32.0", Role.BOTH)
    assert [target.url for target in a.targets] == ["http://10.0.0.7:8000/metrics", "http://10.0.0.7:8080/metrics"]
    assert b.targets[0].url == "http://10.0.0.8:8000/other/metrics"
    assert shared.key.shared
    assert [target.url for target in inventory.pools[0].targets] == [
        "http://10.0.1.1:9000/metrics",
        "http://10.0.1.1:9000/api/workers",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("strategy: prefixaware", "strategy: random"), "endpoints.0.strategy: one of 'roundrobin'"),
        (('"http://10.0.0.7:8000"', '"10.0.0.7:8000"'), "endpoints.0.replicas.0.targets: vllm: '10.0.0.7:8000' is not"),
        (("lmcache-mp:", "lmcache_mp:"), "endpoints.0.replicas.0.targets: lmcache_mp is no kind of target"),
        (("name: b", "name: a"), "endpoints.0: replica 'a' is listed twice"),
        (("name: chat", "nme: chat"), "endpoints.0.name: missing"),
        (("model: llama", "modell: llama"), "endpoints.0.modell: there is no such key"),
        (("57344", "lots"), "endpoints.0.kv_bytes_per_token: a whole number is needed"),
        (("name: chat", "name: _fleet"), "endpoints.0.name: a name begins with"),
        (("name: chat", "name: .."), "endpoints.0.name: a name begins with"),
        (("10.0.0.7:8000", "10.0.0.7:99999"), "endpoints.0.replicas.0.targets: vllm: 'http://10.0.0.7:99999' is not"),
        (("10.0.0.7:8000", "10.0.0.7:80 00"), "is not an http address"),
        (("router.1:", "router./x:"), "endpoints.0.shared: router./x is no kind of target"),
        (("model: llama", "model: llama\n    model: qwen"), "model is given twice"),
        (("model: llama", "model: " + "[" * 2000), "not YAML"),
        (("endpoints:", "endpoints: ["), "not YAML"),
        (("endpoints:", "endpoint:"), "endpoints: missing"),
        (("57344", "-1"), "endpoints.0.kv_bytes_per_token: a number above 0 is needed"),
        (("model: llama", "model: [a]"), "endpoints.0.model: text is needed"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_its_key(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(WHOLE.replace(*change))
    with pytest.raises(UsageError) as caught:
        read_config(path, "prod")
    assert message in str(caught.value)
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("endpoints: []", "endpoints: empty, at least one entry is needed"),
        ("endpoints:", "endpoints: a list is needed, each entry after a dash"),
        ("endpoints: chat", "endpoints: a list is needed, each entry after a dash"),
        ("endpoints: [chat]", "endpoints.0: keys with values are needed"),
        ("endpoints: [{name: chat, replicas: []}]", "endpoints.0.replicas: empty, at least one entry is needed"),
        ("endpoints: [{name: chat, replicas: [{name: a, targets: {}}]}]", "targets: empty, at least one entry"),
        ("endpoints: [{name: chat, replicas: [{name: a, targets: [x]}]}]", "targets: keys with values are needed"),
        ("endpoints: [{name: 7, replicas: []}]", "endpoints.0.name: text is needed"),
        ("[]", "endpoints: missing"),
        ("", "endpoints: missing"),
    ],
)
def test_an_empty_or_misplaced_value_is_told_in_our_own_words(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "deck.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_config(path, "prod")
    assert message in str(caught.value)
    assert not re.search("Input should|valid|Field|validation|pydantic", caught.value.line())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_config(tmp_path / "nowhere.yaml", "prod")
