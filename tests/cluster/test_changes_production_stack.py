"""Every switch and resize of production-stack's objects, and back: its operator notices each of them."""

from __future__ import annotations

import itertools

import pytest

from tests.cluster.changing_plain import PlainChanging
from tests.cluster.production_stack import API, Operator
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.wish import L0Wish, Wish

GIB = 2**30
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
SHARE = "--gpu_memory_utilization"
STRATEGIES = ("roundrobin", "session", "prefixaware", "kvaware")


class Stack(PlainChanging):
    """A runtime with its router, as people write them."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace, "coder")
        self.operator = Operator(cluster, namespace)

    def runtime(self) -> Manifest:
        found: Manifest = self.live("VLLMRuntime", "coder", API)["spec"]
        return found


@pytest.fixture
def stack(cluster: Cluster, namespace: str) -> Stack:
    one = Stack(cluster, namespace)
    one.write(runtime_object(namespace), router_object(namespace, "roundrobin"))
    assert one.operator.reconcile() == ["coder", "front"]
    assert one.operator.reconcile() == []
    return one


def runtime_object(namespace: str) -> Manifest:
    controller = {"LMCACHE_ENABLE_CONTROLLER": "True", "LMCACHE_CONTROLLER_PULL_URL": "front:9000"}
    return {
        "apiVersion": API,
        "kind": "VLLMRuntime",
        "metadata": {"name": "coder", "namespace": namespace, "labels": {"model": "coder"}},
        "spec": {
            "model": {"modelURL": "an/llm"},
            "vllmConfig": {
                "gpuMemoryUtilization": "0.85",
                "tensorParallelSize": 2,
                "env": [{"name": name, "value": value} for name, value in controller.items()],
            },
            "lmCacheConfig": {"enabled": True, "cpuOffloadingBufferSize": "4", "diskOffloadingBufferSize": "8"},
            "deploymentConfig": {
                "replicas": 1,
                "resources": {"cpu": "4", "memory": "16Gi"},
                "image": {"registry": "registry.example", "name": "vllm/vllm-openai:v0.32.0"},
            },
        },
    }


def router_object(namespace: str, strategy: str) -> Manifest:
    return {
        "apiVersion": API,
        "kind": "VLLMRouter",
        "metadata": {"name": "front", "namespace": namespace},
        "spec": {
            "routingLogic": strategy,
            "sessionKey": "x-user",
            "lmcacheControllerPort": 9000,
            "k8sLabelSelector": "model=coder",
            "port": 80,
            "replicas": 1,
            "serviceDiscovery": "k8s",
            "image": {"registry": "registry.example", "name": "lmcache/lmstack-router:v0.1.7"},
            "resources": {"cpu": "1", "memory": "1Gi"},
        },
    }


def test_every_switch_and_back_rolls_the_router(stack: Stack) -> None:
    for now, wished in itertools.permutations(STRATEGIES, 2):
        stack.write(router_object(stack.namespace, now))
        stack.operator.reconcile()
        before = stack.live("VLLMRouter", "front", API)["spec"]
        change = stack.made(Wish(strategy=wished))
        assert stack.live("VLLMRouter", "front", API)["spec"] == {**before, "routingLogic": wished}
        assert stack.operator.reconcile() == ["front"]
        args = stack.container("front")["args"]
        assert args[args.index("--routing-logic") + 1] == wished
        stack.back(change)
        assert stack.live("VLLMRouter", "front", API)["spec"] == before
        assert stack.operator.reconcile() == ["front"]


def test_a_strategy_that_the_live_definition_lacks_is_refused(stack: Stack) -> None:
    refused = stack.plan(Wish(strategy="loadaware"))
    assert isinstance(refused, tuple)
    assert (refused[0].code, refused[0].fix.startswith("Choose roundrobin, session, prefixaware, kvaware")) == (
        "unknown_strategy",
        True,
    )


def test_a_share_that_a_hand_writes_is_a_silent_no_op(stack: Stack) -> None:
    patch = {"spec": {"vllmConfig": {"gpuMemoryUtilization": "0.7"}}}
    stack.cluster.rest.merge(stack.live("VLLMRuntime", "coder", API), patch)
    assert stack.operator.reconcile() == []
    change = stack.made(Wish(l0=L0Wish(share=0.7)))  # stated, and not in effect: the annotation alone is written
    assert change.preview is not None
    assert [edit.path[-1] for edit in change.preview.plan.writes[0].edits] == ["tierdeck.io/changed"]
    assert stack.operator.reconcile() == ["coder"]
    assert _after(stack, SHARE) == "0.7"


@pytest.mark.parametrize(
    ("wish", "flag", "value"),
    [
        (L0Wish(share=0.7), SHARE, "0.7"),
        (L0Wish(size_bytes=8 * GIB), "--kv-cache-memory-bytes", "8589934592"),
        (L0Wish(blocks=4096), "--num-gpu-blocks-override", "4096"),
    ],
)
def test_l0_and_back_is_noticed(stack: Stack, wish: L0Wish, flag: str, value: str) -> None:
    before, args = stack.runtime(), stack.container("coder")["args"]
    change = stack.made(Wish(l0=wish))
    assert stack.operator.reconcile() == ["coder"]
    assert _after(stack, flag) == value
    stack.back(change)
    assert stack.operator.reconcile() == ["coder"], "the annotation has another value once more"
    assert stack.container("coder")["args"] == args
    now = stack.runtime()
    assert now["deploymentConfig"].pop("podAnnotations").keys() == {"tierdeck.io/changed"}
    assert now == before
    again = stack.made(Wish(l0=wish))
    assert again.preview is not None
    assert stack.operator.reconcile() == ["coder"]


def test_l1_and_back_is_noticed_and_memory_moves(stack: Stack) -> None:
    before = stack.runtime()
    change = stack.made(Wish(l1_bytes=20 * GIB))
    now = stack.runtime()
    assert now["lmCacheConfig"]["cpuOffloadingBufferSize"] == "10"  # 20 GiB / 2 ranks
    assert now["deploymentConfig"]["resources"]["memory"] == "28Gi"  # 16 + 20 - 2 x 4
    assert stack.operator.reconcile() == ["coder"]
    container = stack.container("coder")
    assert {one["name"]: one["value"] for one in container["env"]}[SIZE] == "10"
    assert container["resources"]["limits"]["memory"] == "28Gi"
    stack.back(change)
    assert stack.runtime() == before
    assert stack.operator.reconcile() == ["coder"]


def _after(stack: Stack, flag: str) -> str:
    args = stack.container("coder")["args"]
    found: str = args[args.index(flag) + 1]
    return found
