"""Every switch and resize of plain Deployments, and back, as the API server stores it."""

from __future__ import annotations

import itertools

import pytest

from tests.cluster.changing_plain import PlainChanging, engine, router
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.plan import Plan
from tierdeck.changes.wish import L0Wish, Wish

GIB = 2**30
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
STRATEGIES = ("roundrobin", "session", "prefixaware", "kvaware")
POLICIES = ("cache_aware", "round_robin", "power_of_two", "random", "consistent_hash", "sticky_least_loaded")
COMPANIONS = ["--session-key", "x-user", "--lmcache-controller-port", "9000"]
FILE = (
    '{"service_discovery": "k8s", "k8s_label_selector": "app=engine", "routing_logic": "%s", "session_key": "x-user"}'
)


@pytest.fixture
def changing(cluster: Cluster, namespace: str) -> PlainChanging:
    one = PlainChanging(cluster, namespace)
    one.write(engine(namespace))
    return one


def test_every_switch_of_production_stack_s_router_and_back(changing: PlainChanging) -> None:
    for now, wished in itertools.permutations(STRATEGIES, 2):
        changing.write(router(changing.namespace, "--routing-logic", now, *COMPANIONS))
        before = changing.live("Deployment", "gate")["spec"]
        args = before["template"]["spec"]["containers"][0]["args"]
        change = changing.made(Wish(strategy=wished))
        assert changing.container("gate")["args"] == [wished if word == now else word for word in args]
        changing.back(change)
        assert changing.live("Deployment", "gate")["spec"] == before


def test_every_switch_of_vllm_router_and_back(changing: PlainChanging) -> None:
    for now, wished in itertools.pairwise((*POLICIES, POLICIES[0])):
        words = ["--worker-urls", "http://engine:8000", "--policy", now]
        changing.write(router(changing.namespace, *words, image="example.com/vllm-router:0.1.17"))
        change = changing.made(Wish(strategy=wished))
        assert changing.container("gate")["args"][-2:] == ["--policy", wished]
        changing.back(change)
        assert changing.container("gate")["args"][-2:] == ["--policy", now]


def test_every_safe_switch_in_a_watched_file_and_back_restarts_nothing(changing: PlainChanging) -> None:
    watching = router(
        changing.namespace,
        "--routing-logic",
        "roundrobin",
        "--dynamic-config-json",
        "/etc/router/dynamic.json",
        volumeMounts=[{"name": "dynamic", "mountPath": "/etc/router"}],
        volumes=[{"name": "dynamic", "configMap": {"name": "routing"}}],
    )
    changing.write(watching)
    generation = changing.live("Deployment", "gate")["metadata"]["generation"]
    for now, wished in itertools.permutations(STRATEGIES[:3], 2):
        changing.write(_file(changing.namespace, FILE % now))
        change = changing.made(Wish(strategy=wished))
        assert changing.live("ConfigMap", "routing", "v1")["data"] == {"dynamic.json": FILE % wished}
        changing.back(change)
        assert changing.live("ConfigMap", "routing", "v1")["data"] == {"dynamic.json": FILE % now}
    refused = changing.plan(Wish(strategy="kvaware"))
    assert isinstance(refused, tuple)
    assert [one.code for one in refused] == ["not_possible"]
    assert changing.live("Deployment", "gate")["metadata"]["generation"] == generation


def _file(namespace: str, text: str) -> Manifest:
    metadata = {"name": "routing", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"dynamic.json": text}}


SIZES: list[tuple[list[str], dict[str, str], Wish, list[str], dict[str, str], tuple[str, str]]] = [
    (["--gpu-memory-utilization", "0.9"], {}, Wish(l0=L0Wish(share=0.8)),
     ["--gpu-memory-utilization", "0.8"], {}, ("64Gi", "80Gi")),
    (["--kv-cache-memory-bytes=16G"], {}, Wish(l0=L0Wish(share=0.8)),
     ["--gpu-memory-utilization", "0.8"], {}, ("64Gi", "80Gi")),
    (["--gpu_memory_utilization=0.9"], {}, Wish(l0=L0Wish(size_bytes=12 * GIB)),
     ["--gpu_memory_utilization=0.9", "--kv-cache-memory-bytes", "12884901888"], {}, ("64Gi", "80Gi")),
    ([], {}, Wish(l0=L0Wish(blocks=4096)), ["--num-gpu-blocks-override", "4096"], {}, ("64Gi", "80Gi")),
    ([], {SIZE: "10"}, Wish(l1_bytes=40 * GIB), [], {SIZE: "20"}, ("84Gi", "100Gi")),  # 40 - 2 x 10 = 20 GiB more
    ([], {}, Wish(l1_bytes=11 * GIB), [], {SIZE: "5.5"}, ("65Gi", "81Gi")),  # 11 - 2 x 5 = 1 GiB more
    ([], {SIZE: "10"}, Wish(l1_bytes=5 * GIB // 2), [], {SIZE: "1.25"}, ("47616Mi", "64000Mi")),  # 17.5 GiB less
    ([], {SIZE: "4Gi"}, Wish(l1_bytes=16 * GIB), [], {SIZE: "8"}, ("80Gi", "96Gi")),  # 4Gi is none: all of 16 GiB
    ([], {SIZE: "10"}, Wish(l1_bytes=0), [], {SIZE: "10", "LMCACHE_LOCAL_CPU": "False"}, ("64Gi", "80Gi")),
    (["--gpu-memory-utilization", "0.9"], {SIZE: "10"}, Wish(l0=L0Wish(share=0.8), l1_bytes=40 * GIB),
     ["--gpu-memory-utilization", "0.8"], {SIZE: "20"}, ("84Gi", "100Gi")),
    ([], {"LMCACHE_LOCAL_DISK": "file:///nvme/", "LMCACHE_MAX_LOCAL_DISK_SIZE": "50"}, Wish(l2_bytes=200 * GIB),
     [], {"LMCACHE_LOCAL_DISK": "file:///nvme/", "LMCACHE_MAX_LOCAL_DISK_SIZE": "100"}, ("64Gi", "80Gi")),
]  # fmt: skip


@pytest.mark.parametrize(("args", "env", "wish", "new_args", "new_env", "memory"), SIZES)
def test_every_resize_of_an_engine_and_back(
    cluster: Cluster, namespace: str, args: list[str], env: dict[str, str], wish: Wish,
    new_args: list[str], new_env: dict[str, str], memory: tuple[str, str],
) -> None:  # fmt: skip
    changing = PlainChanging(cluster, namespace)
    changing.write(engine(namespace, *args, **env))
    before = changing.live("Deployment", "engine")["spec"]
    change = changing.made(wish)
    after = changing.container()
    assert after["args"] == [*engine(namespace)["spec"]["template"]["spec"]["containers"][0]["args"], *new_args]
    base = {"HF_TOKEN", "LMCACHE_ENABLE_CONTROLLER", "LMCACHE_CONTROLLER_PULL_URL"}
    assert {one["name"]: one["value"] for one in after["env"] if one["name"] not in base} == new_env
    resources = after["resources"]
    assert (resources["requests"]["memory"], resources["limits"]["memory"]) == memory
    changing.back(change)
    assert changing.live("Deployment", "engine")["spec"] == before


def test_helm_s_fields_are_taken_over_with_a_warning(cluster: Cluster, namespace: str) -> None:
    changing = PlainChanging(cluster, namespace)
    cluster.rest.apply(engine(namespace, "--gpu-memory-utilization", "0.9"), manager="helm")
    plan = changing.plan(Wish(l0=L0Wish(share=0.8)))
    assert isinstance(plan, Plan)
    assert any(one.startswith("helm owns ") for one in plan.warnings)
