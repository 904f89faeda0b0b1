"""Snapshot directories, and the configuration that points a deck at their replay."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lab.deck_config import deck_config, write_atomically
from lab.snapshot import read_snapshot
from tierdeck.errors import UsageError

Made = Callable[[dict[str, str]], Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    def make(files: dict[str, str]) -> Path:
        directory = tmp_path / "demo"
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return directory

    return make


def test_moments_are_sorted_as_numbers_and_gaps_are_kept(made: Made) -> None:
    files = {"A/0/vllm.txt": "a0", "A/60/vllm.txt": "a60", "A/120/vllm.txt": "a120", "_fleet/60/router.1.txt": "r"}
    snapshot = read_snapshot(made({**files, "README.md": "no exposition"}))
    assert snapshot.moments == (0, 60, 120)
    assert snapshot.bodies[("A", "vllm")] == ("a0", "a60", "a120")
    assert snapshot.bodies[("_fleet", "router.1")] == (None, "r", None)
    assert snapshot.replicas == ("A",)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"README.md": ""}, "holds no expositions"),
        ({"A/0/nginx.txt": ""}, "'nginx' is no source"),
        ({"A/first/vllm.txt": ""}, "'first' is no number of seconds"),
        ({"A/0/vllm.txt": "", "fleet.json": "{"}, "fleet.json can't be used"),
        ({"A/0/vllm.txt": "", "fleet.json": '{"roles": {"A": "boss"}}'}, "fleet.json can't be used"),
        ({"A/0/vllm.txt": "", "fleet.json": "[]"}, "fleet.json can't be used"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_the_reason(made: Made, files: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_snapshot(made(files))


def test_the_configuration_lists_replicas_shared_sources_and_pool(made: Made) -> None:
    facts = {"kv_bytes_per_token": 512, "roles": {"A": "kv_both"}, "versions": {"A": {"vllm": "0.32.0"}}}
    files = {"A/0/vllm.txt": "", "B/0/vllm.txt": "", "_fleet/0/router.txt": "", "_fleet/0/curvine-master.txt": ""}
    snapshot = read_snapshot(made({**files, "fleet.json": json.dumps(facts)}))
    assert deck_config([snapshot], lambda *names: "/".join(names)) == {
        "endpoints": [
            {
                "name": "demo",
                "kv_bytes_per_token": 512,
                "replicas": [
                    {
                        "name": "A",
                        "role": "kv_both",
                        "versions": {"vllm": "0.32.0"},
                        "targets": {"vllm": "demo/A/vllm"},
                    },
                    {"name": "B", "targets": {"vllm": "demo/B/vllm"}},
                ],
                "shared": {"router": "demo/_fleet/router"},
            }
        ],
        "pools": [{"name": "demo", "targets": {"curvine-master": "demo/_fleet/curvine-master"}}],
    }


def test_the_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deck.yaml"
    write_atomically(path, {"endpoints": []})
    write_atomically(path, {"endpoints": [{"name": "x"}]})
    assert yaml.safe_load(path.read_text()) == {"endpoints": [{"name": "x"}]}
    assert [file.name for file in path.parent.iterdir()] == ["deck.yaml"]
