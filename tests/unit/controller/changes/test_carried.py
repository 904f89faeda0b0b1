"""What running pods carry, exactly once; and what routers and engines tell of themselves."""

from __future__ import annotations

import pytest

from controller.changes.kube.carried import wrong
from controller.changes.kube.told import Told, of_engines, of_routers
from controller.objects import Objects
from controller.reading.lineage import Found
from tests.unit.controller.changes.kube_objects import REF
from tierdeck.changes.plan import Carried, Carrying
from tierdeck.deployed import ObjectRef

NOTHING = Objects("east", {})
SIZE = Carried(REF, "vllm", Carrying.ENVIRONMENT, "LMCACHE_MAX_LOCAL_CPU_SIZE", "40")
SHARE = Carried(REF, "vllm", Carrying.ARGUMENT, "--gpu-memory-utilization", "0.8")
POD = "Pod llm/chat-0"
OPERATOR = "the operator of InferenceEndpointConfig llm/chat"


def pod(*args: str, env: list[dict[str, object]] | None = None, name: str = "vllm", image: str = "vllm/vllm-openai:v0.32.0") -> Found:  # fmt: skip  # noqa: E501
    container = {"name": name, "image": image, "args": list(args), "env": env or []}
    raw = {"spec": {"containers": [container]}, "status": {"podIP": "10.0.0.1", "phase": "Running"}}
    return ObjectRef("Pod", "llm", "chat-0"), raw


def sizes(*values: str) -> list[dict[str, object]]:
    return [{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": value} for value in values]


@pytest.mark.parametrize(("found", "words"), [
    (pod(env=sizes("40")), ""),
    (pod(env=sizes("40.0")), ""),
    (pod(), f"{OPERATOR} removed LMCACHE_MAX_LOCAL_CPU_SIZE: container vllm of Pod llm/chat-0 lacks it"),
    (pod(env=sizes("5", "40")), "container vllm of Pod llm/chat-0 has LMCACHE_MAX_LOCAL_CPU_SIZE 2 times (5, 40)"),
    (pod(env=sizes("5")), f"{OPERATOR} gave container vllm of Pod llm/chat-0 LMCACHE_MAX_LOCAL_CPU_SIZE 5, not 40"),
    (pod(name="other"), "Pod llm/chat-0 has no container vllm"),
    (pod(env=[{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]),
     f"{SIZE.name} of container vllm of {POD} can't be read: its value comes from elsewhere (configMapKeyRef)"),
])  # fmt: skip
def test_a_variable_is_carried_exactly_once(found: Found, words: str) -> None:
    assert wrong(SIZE, [found], NOTHING, OPERATOR) == words


@pytest.mark.parametrize(("found", "words"), [
    (pod("--model", "x", "--gpu-memory-utilization", "0.80"), ""),
    (pod("--gpu-memory-utilization=0.8"), ""),
    (pod("--gpu_memory_utilization", "0.8"), ""),
    (pod("--model", "x"), "container vllm of Pod llm/chat-0 lacks --gpu-memory-utilization"),
    (pod("--gpu-memory-utilization", "0.9", "--gpu-memory-utilization", "0.8"),
     "container vllm of Pod llm/chat-0 has --gpu-memory-utilization 2 times (0.9, 0.8)"),
])  # fmt: skip
def test_a_flag_is_carried_exactly_once_however_it_is_spelled(found: Found, words: str) -> None:
    assert wrong(SHARE, [found], NOTHING, "") == words


def test_what_must_not_be_there_is_named_where_it_is() -> None:
    gone = Carried(REF, "vllm", Carrying.ENVIRONMENT, "LMCACHE_MAX_LOCAL_CPU_SIZE", None)
    assert wrong(gone, [pod()], NOTHING, "") == ""
    assert wrong(gone, [pod(env=sizes("5"))], NOTHING, "") == (
        "container vllm of Pod llm/chat-0 still has LMCACHE_MAX_LOCAL_CPU_SIZE (5)"
    )


def test_a_value_that_may_not_be_shown_is_not() -> None:
    secret = Carried(REF, "vllm", Carrying.ENVIRONMENT, "HF_TOKEN", "a")
    words = wrong(secret, [pod(env=[{"name": "HF_TOKEN", "value": "canary"}])], NOTHING, "")
    assert words == "container vllm of Pod llm/chat-0 has HF_TOKEN (not shown), not (not shown)"


def info(share: str) -> bytes:
    labels = f'block_size="16",gpu_memory_utilization="{share}",num_gpu_blocks="None"'
    return f"vllm:cache_config_info{{{labels}}} 1.0\n".encode()


def test_an_engine_that_says_another_size_than_it_was_given_contradicts() -> None:
    found = pod("--gpu-memory-utilization", "0.8")
    asked: list[str] = []

    def agrees(url: str) -> bytes:
        asked.append(url)
        return info("0.8")

    assert of_engines([SHARE], [found], NOTHING, agrees) == Told(words="vllm:cache_config_info of each engine agrees")
    assert asked == ["http://10.0.0.1:8000/metrics"]
    other = of_engines([SHARE], [found], NOTHING, lambda _url: info("0.9"))
    assert other.wrong == "the engine of Pod llm/chat-0 says --gpu-memory-utilization 0.9, not 0.8"
    away = of_engines([SHARE], [found], NOTHING, lambda _url: None)
    assert away == Told(words="vllm:cache_config_info of 1 of 1 engines was not read")
    assert of_engines([SIZE], [found], NOTHING, agrees) == Told()


def test_a_router_says_which_strategy_it_has_applied() -> None:
    router = pod("--port", "8001", "--routing-logic", "roundrobin", image="lmcache/lmstack-router:v0.1.7")
    says = b'{"status": "healthy", "dynamic_config": {"routing_logic": "session"}}'
    assert of_routers("session", [router], NOTHING, lambda _url: says).words == "/health of each router says session"
    assert "still routes by session" in of_routers("prefixaware", [router], NOTHING, lambda _url: says).wrong
    unread = Told(words="/health of 1 of 1 routers was not read, or names no strategy")
    assert of_routers("session", [router], NOTHING, lambda _url: b'{"status": "healthy"}') == unread
    assert of_routers("session", [router], NOTHING, lambda _url: None) == unread
    assert of_routers("session", [pod("--model", "x")], NOTHING, lambda _url: says) == Told()
