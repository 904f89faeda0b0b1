"""Commands are read in every spelling that a manifest may use."""

from __future__ import annotations

from typing import Any

import pytest

from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.processes import Process, read_process
from tierdeck.deployed import Component

SPELLINGS: dict[str, dict[str, Any]] = {
    "args, apart": {"args": ["--gpu-memory-utilization", "0.9"]},
    "args, with =": {"args": ["--gpu-memory-utilization=0.9"]},
    "underscores": {"args": ["--gpu_memory_utilization", "0.9"]},
    "in command": {"command": ["vllm", "serve", "m", "--gpu-memory-utilization", "0.9"]},
    "numbers": {"args": ["--gpu-memory-utilization", 0.9]},
    "the last wins": {"args": ["--gpu-memory-utilization=0.5", "--gpu-memory-utilization=0.9"]},
    "a shell": {"command": ["sh", "-c", "vllm serve m --gpu-memory-utilization 0.9"]},
    "a shell in args": {
        "command": ["/bin/bash", "-lc"],
        "args": ["cd /x && exec vllm serve m --gpu_memory_utilization=0.9"],
    },
    "a script": {
        "command": ["bash", "-ec"],
        "args": ["# don't\nexport A=1\nsleep 1; A=2 vllm serve m \\\n --gpu-memory-utilization 0.9"],
    },
    "a variable": {"args": ["--gpu-memory-utilization", "$(UTIL)"], "env": [{"name": "UTIL", "value": "0.9"}]},
    "a shell's variable": {
        "command": ["sh", "-c", 'vllm serve m --gpu-memory-utilization "${UTIL}"'],
        "env": [{"name": "UTIL", "value": "0.9"}],
    },
    "a shell's default": {"command": ["sh", "-c", "vllm serve m --gpu-memory-utilization ${UTIL:-0.9}"]},
}  # fmt: skip


def process(**container: Any) -> Process:
    image = container.pop("image", "vllm/vllm-openai:v0.32.0")
    raw = {"name": "main", "image": image, **container}
    return read_process(raw, [], Configs(Objects("prod", {}), "ns"), "Pod ns/p, container main")


@pytest.mark.parametrize("container", SPELLINGS.values(), ids=SPELLINGS)
def test_a_flag_is_found_however_it_is_spelled(container: dict[str, Any]) -> None:
    found = process(**container)
    assert found.command.value("--gpu-memory-utilization") == "0.9"
    assert found.component is Component.ENGINE


def test_a_value_that_is_not_known_has_its_reason() -> None:
    stated = process(args=["--port", "$(PORT)"]).command.get("--port")
    assert stated is not None
    assert stated.reason == "--port is $(PORT), whose value is not known"


def test_a_flag_before_another_flag_has_no_value() -> None:
    stated = process(args=["--port", "--host", "x"]).command.get("--port")
    assert stated is not None
    assert "without a value" in stated.reason


def test_a_script_that_can_not_be_read_is_a_problem() -> None:
    assert "can't be read" in process(command=["sh", "-c", "vllm serve 'x"]).command.problem


@pytest.mark.parametrize(
    ("container", "component"),
    [
        ({"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "image": "own:1"}, Component.ENGINE),
        ({"command": ["lmcache", "server", "--l1-size-gb", "60"]}, Component.LMCACHE),
        ({"command": ["lmcache", "coordinator"]}, Component.LMCACHE_COORDINATOR),
        ({"image": "registry.example/vllm-project/production-stack/router:main"}, Component.ROUTER),
        ({"command": ["vllm-router", "--worker-urls", "http://a"], "image": "own:1"}, Component.ROUTER),
        ({"image": "nginx:1.27"}, Component.OTHER),
        ({"command": ["sleep", "infinity"]}, Component.OTHER),
        ({"command": ["/opt/curvine/curvine-fuse"], "image": "own:1"}, Component.CURVINE_FUSE),
    ],
)
def test_a_container_is_told_by_what_it_runs(container: dict[str, Any], component: Component) -> None:
    assert process(**container).component is component
