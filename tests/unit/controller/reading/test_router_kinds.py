"""vllm-router and production-stack's router share a command's name; what they are told tells them apart."""

from __future__ import annotations

import pytest

from controller.reading.configs import Configs
from controller.reading.processes import read_process
from controller.reading.targets import is_vllm_router
from tests.support.manifests import objects_of


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        (["vllm-router"], True),
        (["vllm-router", "--policy", "random"], True),
        (["python", "-m", "router", "--worker-urls", "http://a:8000"], True),
        (["vllm-router", "--routing-logic", "roundrobin"], False),
        (["vllm-router", "--routing-logic=roundrobin", "--policy", "random"], False),
        (["python", "-m", "vllm_router.app", "--port", "80"], False),
    ],
)
def test_which_router_it_is(command: list[str], is_it: bool) -> None:
    process = read_process({"name": "router", "command": command}, [], Configs(objects_of([]), "llm"), "a Pod")
    assert is_vllm_router(process) is is_it
