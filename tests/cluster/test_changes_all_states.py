"""Strategies and sizes of each backend through every state and back, with pods that run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cluster.all_states import AllStates, all_states
from tests.cluster.changing_hyperpod import ChangingHyperpod
from tests.cluster.changing_plain import PlainChanging, engine, router
from tests.cluster.hyperpod import Hyperpod, endpoint
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.cluster.rendering import API as HYPERPOD
from tests.cluster.rendering import SYSTEM
from tests.cluster.test_changes_curvine import pool
from tests.cluster.test_changes_production_stack import Stack, router_object, runtime_object
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tests.support.manifests import documents
from tierdeck.changes.wish import L0Wish, Wish

GIB = 2**30
COMPANIONS = ["--session-key", "x-user", "--lmcache-controller-port", "9000"]
STRATEGIES = tuple(Wish(strategy=name) for name in ("session", "prefixaware", "kvaware"))
"""From roundrobin, where every router begins."""
SIZES = (
    Wish(l0=L0Wish(share=0.7)),
    Wish(l0=L0Wish(size_bytes=8 * GIB)),
    Wish(l0=L0Wish(blocks=4096)),
    Wish(l1_bytes=16 * GIB),
    Wish(l0=L0Wish(share=0.7), l1_bytes=16 * GIB),
)


def there_and_back(states: AllStates, endpoint: str, wish: Wish, spec: Callable[[], object]) -> None:
    """The change is kept, its revert too, and then everything stands as before."""
    before = spec()
    change = states.kept(endpoint, wish)
    assert spec() != before, wish.text
    states.kept(endpoint, wish, change.id)
    assert spec() == before, wish.text


def ready(cluster: Cluster, namespace: str, count: int) -> None:
    """So many pods run."""

    def is_ready() -> bool:
        pods = cluster.rest.objects("Pod", namespace)
        conditions = [one.get("status", {}).get("conditions", []) for one in pods]
        return sum(any((c["type"], c["status"]) == ("Ready", "True") for c in some) for some in conditions) >= count

    cluster.wait_until(is_ready, f"{count} pods that are ready")


def test_a_plain_deployment(cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path) -> None:
    kubelets.add_node(Machine())
    one = PlainChanging(cluster, namespace)
    one.write(engine(namespace), router(namespace, "--routing-logic", "roundrobin", *COMPANIONS))
    ready(cluster, namespace, 2)

    def specs() -> list[Manifest]:
        return [_by_name(one.live("Deployment", name)["spec"]) for name in ("engine", "gate")]

    with all_states(cluster, one.changer, tmp_path, (namespace,), lambda: None) as states:
        for wish in (*STRATEGIES, *SIZES):
            there_and_back(states, f"{namespace}/engine", wish, specs)


def test_production_stack(cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path) -> None:
    kubelets.add_node(Machine())
    stack = Stack(cluster, namespace)
    stack.write(runtime_object(namespace), router_object(namespace, "roundrobin"))
    stack.operator.reconcile()
    ready(cluster, namespace, 2)

    def specs() -> list[Manifest]:
        return [cluster.rest.get(kind, name, namespace, "production-stack.vllm.ai/v1alpha1")["spec"]
                for kind, name in (("VLLMRuntime", "coder"), ("VLLMRouter", "front"))]  # fmt: skip

    with all_states(cluster, stack.changer, tmp_path, (namespace,), stack.operator.reconcile) as states:
        for wish in (*STRATEGIES, Wish(l1_bytes=16 * GIB)):
            there_and_back(states, f"{namespace}/coder", wish, specs)


def test_a_share_of_production_stack_keeps_the_mark_that_makes_its_operator_look(
    cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path
) -> None:
    kubelets.add_node(Machine())
    stack = Stack(cluster, namespace)
    stack.write(runtime_object(namespace), router_object(namespace, "roundrobin"))
    stack.operator.reconcile()
    ready(cluster, namespace, 2)
    with all_states(cluster, stack.changer, tmp_path, (namespace,), stack.operator.reconcile) as states:
        change = states.kept(f"{namespace}/coder", Wish(l0=L0Wish(share=0.7)))
        assert stack.runtime()["vllmConfig"]["gpuMemoryUtilization"] == "0.7"
        assert "0.7" in stack.container("coder")["args"]
        states.kept(f"{namespace}/coder", change.wish, change.id)
        assert stack.runtime()["vllmConfig"]["gpuMemoryUtilization"] == "0.85"
        assert "0.85" in stack.container("coder")["args"]


def test_hyperpod(cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod, tmp_path: Path) -> None:
    kubelets.add_node(Machine())
    chat = ChangingHyperpod(cluster, namespace)
    chat.make()
    with all_states(cluster, chat.changer, tmp_path, (namespace, SYSTEM), lambda: None) as states:
        for wish in (Wish(strategy="roundrobin"), Wish(l0=L0Wish(share=0.7)), Wish(l1_bytes=8 * GIB)):
            there_and_back(states, f"{namespace}/chat", wish, chat.spec)
    cluster.rest.delete(chat.config())


def test_hyperpod_where_session_and_kvaware_have_what_they_need(
    cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod, tmp_path: Path
) -> None:
    kubelets.add_node(Machine())
    chat = ChangingHyperpod(cluster, namespace)
    worker = endpoint(namespace)["spec"]["worker"]
    worker["environmentVariables"].append({"name": "SESSION_KEY", "value": "user_id"})
    chat.make(invocationEndpoint="completions", worker=worker)
    with all_states(cluster, chat.changer, tmp_path, (namespace, SYSTEM), lambda: None) as states:
        for wish in (Wish(strategy="session"), Wish(strategy="kvaware")):
            there_and_back(states, f"{namespace}/chat", wish, chat.spec)
    cluster.rest.delete(chat.config())


def test_a_jumpstart_model(
    cluster: Cluster, namespace: str, kubelets: Kubelets, hyperpod: Hyperpod, tmp_path: Path
) -> None:
    kubelets.add_node(Machine())
    hyperpod.renders_models = True
    spec = {
        "model": {"modelId": "huggingface-llm-qwen3-8b"},
        "server": {"instanceType": "ml.g5.12xlarge"},
        "kvCacheSpec": {"enableL1Cache": True},
        "intelligentRoutingSpec": {"enabled": True, "routingStrategy": "prefixaware"},
        "environmentVariables": [{"name": "PYTHONHASHSEED", "value": "0"}],
    }
    meta = {"name": "chat", "namespace": namespace}
    model = {"apiVersion": HYPERPOD, "kind": "JumpStartModel", "metadata": meta, "spec": spec}
    cluster.rest.apply(model, manager="kubectl-client-side-apply")
    ready(cluster, namespace, 1)
    changing = ChangingHyperpod(cluster, namespace)

    def stored() -> object:
        return cluster.rest.get("JumpStartModel", "chat", namespace, HYPERPOD)["spec"]

    with all_states(cluster, changing.changer, tmp_path, (namespace, SYSTEM), lambda: None) as states:
        for wish in (Wish(strategy="roundrobin"), Wish(l1_bytes=8 * GIB)):
            there_and_back(states, f"{namespace}/chat", wish, stored)
        refused = states.made(f"{namespace}/chat", Wish(l0=L0Wish(share=0.7)))
        assert [one.code for one in refused.refusals] == ["not_possible"]
    cluster.rest.delete(model)


def helm_made(namespace: str) -> list[Manifest]:
    """The example's engine, router and watched file, as Helm writes them."""
    kept = ("stack-llama-deployment-vllm", "stack-deployment-router", "routing")
    text = json.dumps([one for one in documents("production-stack-helm") if one["metadata"]["name"] in kept])
    found: list[Manifest] = json.loads(text.replace('"stack"', f'"{namespace}"'))
    for one in found:
        one["metadata"].pop("uid", None)
        if one["metadata"]["name"] == "stack-deployment-router":
            one["spec"]["template"]["metadata"]["labels"] = {"environment": "router"}
    return found


def test_production_stack_made_by_helm(cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path) -> None:
    kubelets.add_node(Machine())
    for one in helm_made(namespace):
        cluster.rest.apply(one, manager="helm")
    ready(cluster, namespace, 2)
    stack = PlainChanging(cluster, namespace, "stack-llama-deployment-vllm")

    def specs() -> list[object]:
        names = ("stack-llama-deployment-vllm", "stack-deployment-router")
        file = stack.live("ConfigMap", "routing", "v1")["data"]
        return [file, *(_by_name(stack.live("Deployment", name)["spec"]) for name in names)]

    with all_states(cluster, stack.changer, tmp_path, (namespace,), lambda: None) as states:
        for wish in (Wish(strategy="roundrobin"), Wish(strategy="prefixaware"), *SIZES):
            there_and_back(states, f"{namespace}/stack-llama-deployment-vllm", wish, specs)


def server_per_node(namespace: str) -> Manifest:
    """LMCache's multi-process server on each node, with L1 of 20 GiB."""
    adapter = '{"type": "fs", "base_path": "/l2", "max_capacity_gb": 50}'
    container = {
        "name": "lmcache",
        "image": "lmcache/standalone:v0.5.6",
        "command": ["lmcache", "server", "--l1-size-gb", "20", "--l2-adapter", adapter],
        "resources": {"requests": {"memory": "30Gi"}, "limits": {"memory": "30Gi"}},
    }
    labels = {"app": "lmcache"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    meta = {"name": "lmcache", "namespace": namespace}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": meta,
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def test_a_server_of_lmcache_per_node(cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path) -> None:
    kubelets.add_node(Machine())
    one, made = PlainChanging(cluster, namespace), engine(namespace)
    words = made["spec"]["template"]["spec"]["containers"][0]["args"]
    made["spec"]["template"]["spec"]["containers"][0]["args"] = [
        word.replace("LMCacheConnectorV1", "LMCacheMPConnector") for word in words
    ]
    one.write(server_per_node(namespace), made)
    ready(cluster, namespace, 2)

    def spec() -> object:
        return one.live("DaemonSet", "lmcache")["spec"]

    with all_states(cluster, one.changer, tmp_path, (namespace,), lambda: None) as states:
        for wish in (Wish(l1_bytes=10 * GIB), Wish(l2_bytes=80 * GIB)):
            there_and_back(states, f"{namespace}/engine", wish, spec)


def test_a_pool_of_curvine(cluster: Cluster, namespace: str, kubelets: Kubelets, tmp_path: Path) -> None:
    kubelets.add_node()
    for one in pool(namespace):
        cluster.rest.apply(one, manager="helm")
    changing = ChangingHyperpod(cluster, namespace, "curvine")

    def replicas() -> int:
        found: int = cluster.rest.get("StatefulSet", "curvine-worker", namespace, "apps/v1")["spec"]["replicas"]
        return found

    with all_states(cluster, changing.changer, tmp_path, (namespace,), lambda: None) as states:
        there_and_back(states, f"{namespace}/curvine", Wish(l2_bytes=900 * GIB), replicas)


def _by_name(spec: Manifest) -> Manifest:
    """With variables in the order of their names: one that went and came back stands last."""
    for container in spec["template"]["spec"]["containers"]:
        if "env" in container:
            container["env"] = sorted(container["env"], key=lambda one: str(one["name"]))
    return spec
