"""The controller on a real cluster: what is deployed is found, and everything that happens is written once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.hyperpod import Hyperpod, endpoint, running_hyperpod
from tests.cluster.kubelet import Kubelets, labelled
from tests.cluster.nodes import Machine
from tests.cluster.pod_states import Behaviour
from tests.cluster.rendering import EnvHandling
from tests.cluster.watched import Watched
from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.deployed import Component, Deployed, PodRun
from tierdeck.events import EventKind
from tierdeck.fleet import Replica

pytestmark = pytest.mark.usefixtures("kubelets")


@pytest.fixture
def node(kubelets: Kubelets) -> str:
    return kubelets.add_node(Machine(group="workers", gpus=8))


@pytest.fixture
def watched(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Watched]:
    """A controller that looks into the test's namespace and HyperPod's own."""
    spaces = f"{namespace},hyperpod-inference-system"
    settings = {"TIERDECK_KUBE_NAMESPACES": spaces, "TIERDECK_DRIFT_SECONDS": "2"}
    with Watched(tmp_path, cluster.kubeconfig, **settings) as one:
        yield one


def apply(cluster: Cluster, manifest: Manifest) -> None:
    cluster.rest.apply(manifest)


def settled(watched: Watched, name: str, ready: int) -> None:
    """The endpoint has that many ready pods, and its rollout is over."""

    def is_so() -> bool:
        one = watched.endpoints().get(name)
        return one is not None and one.is_settled and [pod.is_ready for pod in engine_pods(one)] == [True] * ready

    watched.until(is_so, f"{ready} ready engines of {name}")


def engine_pods(one: Deployed) -> list[PodRun]:
    """Without its router's, and without those that were evicted and stay as a record."""
    pods = [pod for pod in one.pods if pod.phase != "Failed"]
    return [pod for pod in pods if any(run.component is Component.ENGINE for run in pod.containers)]


def engines(namespace: str, replicas: int = 1, image: str = "", args: tuple[str, ...] = ()) -> Manifest:
    made = engine_deployment(namespace, replicas=replicas)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--model", "an/llm", *args]
    if image:
        container["image"] = image
    return made


def test_a_hyperpod_endpoint_is_found_with_strategy_sizes_and_its_replicas(
    cluster: Cluster, namespace: str, watched: Watched, hyperpod: Hyperpod, node: str
) -> None:
    apply(cluster, endpoint(namespace, replicas=2))
    watched.start()
    name = f"{namespace}/chat"
    settled(watched, name, 2)
    watched.until(lambda: watched.endpoints()[name].effective.strategy.value == "prefixaware", "the running router")
    one = watched.endpoints()[name]
    assert (one.backend, one.source.kind, one.wanted) == ("hyperpod", "InferenceEndpointConfig", 2)
    assert one.configured.strategy.value == "prefixaware"
    assert one.configured.l0.text == "--gpu-memory-utilization 0.85"
    assert one.effective.l0.text == "--gpu-memory-utilization 0.85"
    assert {pod.node for pod in engine_pods(one)} == {node}
    watched.until(lambda: len(_replicas(watched, name)) == 2, "both replicas as the collectors' targets")
    replicas = _replicas(watched, name)
    assert {replica.key.replica for replica in replicas} <= {pod.name for pod in one.pods}
    assert all(target.url.endswith(":8000/metrics") for replica in replicas for target in replica.targets)


def _replicas(watched: Watched, name: str) -> list[Replica]:
    """Those that the collectors are to scrape."""
    found = [known for known in watched.store.endpoints("test") if known.name == name]
    return [replica for known in found for replica in known.replicas if not replica.key.shared]


def test_what_an_operator_and_a_node_do_to_an_endpoint_is_written_once(
    cluster: Cluster, namespace: str, watched: Watched, hyperpod: Hyperpod, kubelets: Kubelets, node: str
) -> None:
    made = endpoint(namespace, replicas=1)
    apply(cluster, made)
    watched.start()
    name = f"{namespace}/chat"
    settled(watched, name, 1)
    assert watched.events(EventKind.ROUTING_CHANGED, EventKind.SIZE_CHANGED, EventKind.RESTART) == []

    made["spec"]["intelligentRoutingSpec"]["routingStrategy"] = "session"
    apply(cluster, made)
    ((_, _, words),) = watched.wait_for(EventKind.ROUTING_CHANGED)
    assert words.startswith("routing prefixaware → session, by ")

    worker = made["spec"]["worker"]
    worker["args"][-1] = "0.7"
    apply(cluster, made)
    ((_, _, words),) = watched.wait_for(EventKind.SIZE_CHANGED)
    assert "L0 --gpu-memory-utilization 0.85 → --gpu-memory-utilization 0.7" in words
    watched.wait_for(EventKind.ROLLOUT)
    settled(watched, name, 1)

    worker["image"] = "vllm/vllm-openai:v0.33.0"
    apply(cluster, made)
    ((_, _, words),) = watched.wait_for(EventKind.IMAGE_CHANGED, endpoint=name)
    assert words == "engine image vllm/vllm-openai:v0.32.0 → vllm/vllm-openai:v0.33.0"
    settled(watched, name, 1)

    made["spec"]["replicas"] = 2
    apply(cluster, made)
    watched.wait_for(EventKind.SCALED_OUT)
    settled(watched, name, 2)
    made["spec"]["replicas"] = 1
    apply(cluster, made)
    watched.wait_for(EventKind.SCALED_IN)
    settled(watched, name, 1)


def test_what_an_operator_leaves_out_is_drift_until_it_is_rendered(
    cluster: Cluster, namespace: str, watched: Watched, node: str
) -> None:
    with running_hyperpod(cluster, EnvHandling.STRIPS) as operator:
        made = endpoint(namespace)
        made["spec"]["worker"]["environmentVariables"].append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "20"})
        apply(cluster, made)
        watched.start()
        name = f"{namespace}/chat"
        settled(watched, name, 1)
        told = watched.wait_for(EventKind.DRIFT)
        assert [words for _, _, words in told if words.startswith("L1")] == ["L1: 20 GiB is configured, 5 GiB runs"]
        operator.upgrade("v3.3", EnvHandling.KEEPS)
        told = watched.wait_for(EventKind.DRIFT_OVER)
        assert "L1: runs as configured again" in [words for _, _, words in told]


def test_other_images_of_router_cache_and_pool_are_told_and_what_comes_and_goes(
    cluster: Cluster, namespace: str, watched: Watched, node: str
) -> None:
    parts = [*parts_of_an_endpoint(namespace, "v1"), *parts_of_a_pool(namespace, "v1")]
    for part in parts:
        apply(cluster, part)
    watched.start()
    name = f"{namespace}/engine"
    settled(watched, name, 1)
    watched.until(lambda: bool(watched.pools()), "the pool")
    for part in [*parts_of_an_endpoint(namespace, "v2"), *parts_of_a_pool(namespace, "v2")]:
        apply(cluster, part)
    told = watched.wait_for(EventKind.IMAGE_CHANGED, 4)
    assert sorted(words for _, _, words in told) == [
        "curvine-master image curvine/curvine:v1 → curvine/curvine:v2",
        "curvine-worker image curvine/curvine:v1 → curvine/curvine:v2",
        "lmcache image lmcache/standalone:v1 → lmcache/standalone:v2",
        "router image lmcache/lmstack-router:v1 → lmcache/lmstack-router:v2",
    ]
    cluster.rest.delete(parts[0])
    assert watched.wait_for(EventKind.GONE) == [(name, "", f"Deployment {name} is gone")]
    apply(cluster, parts_of_an_endpoint(namespace, "v2")[0])
    assert watched.wait_for(EventKind.APPEARED) == [(name, "", f"Deployment {name} appeared (deployment)")]


def parts_of_an_endpoint(namespace: str, version: str) -> list[Manifest]:
    """An engine with LMCache's server beside it, and its router."""
    engine = engines(namespace)
    server = {"name": "cache", "image": f"lmcache/standalone:{version}", "command": ["lmcache", "server"]}
    engine["spec"]["template"]["spec"]["containers"].append(server)
    router = engine_deployment(namespace, "front")
    command = ["vllm-router", "--worker-urls", "http://engine:8000", "--policy", "round_robin"]
    container = {"name": "router", "image": f"lmcache/lmstack-router:{version}", "command": command}
    router["spec"]["template"]["spec"] = {"containers": [container]}
    return [engine, router]


def parts_of_a_pool(namespace: str, version: str) -> list[Manifest]:
    """Curvine's master and worker."""
    made = []
    for part in ("master", "worker"):
        labels = {
            "app.kubernetes.io/name": "curvine",
            "app.kubernetes.io/instance": "curvine",
            "app.kubernetes.io/component": part,
        }
        container = {"name": part, "image": f"curvine/curvine:{version}", "args": [part, "start"]}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"serviceName": part, "selector": {"matchLabels": labels}, "template": template}
        metadata = {"name": f"curvine-{part}", "namespace": namespace, "labels": labels}
        made.append({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
    return made


def test_a_rollout_that_does_not_go_on_is_told(
    cluster: Cluster, namespace: str, watched: Watched, kubelets: Kubelets, node: str
) -> None:
    apply(cluster, engines(namespace))
    watched.start()
    settled(watched, f"{namespace}/engine", 1)
    kubelets.behave(Behaviour.NEVER_READY, labelled(app="engine"))
    stuck = engines(namespace, image="vllm/vllm-openai:v0.33.0")
    stuck["spec"]["progressDeadlineSeconds"] = 2
    apply(cluster, stuck)
    ((_, _, words),) = watched.wait_for(EventKind.ROLLOUT_STUCK)
    assert "ProgressDeadlineExceeded" in words


def test_what_happens_to_pods_is_written_once(
    cluster: Cluster, namespace: str, watched: Watched, kubelets: Kubelets, node: str
) -> None:
    apply(cluster, engines(namespace))
    watched.start()
    name = f"{namespace}/engine"
    settled(watched, name, 1)
    (pod,) = [one.name for one in engine_pods(watched.endpoints()[name])]
    kubelets.crash(namespace, pod)
    ((_, replica, words),) = watched.wait_for(EventKind.RESTART)
    assert (replica, words) == (pod, f"{pod}: vllm restarted (Error, exit code 1)")
    kubelets.oom_kill(namespace, pod)
    ((_, _, words),) = watched.wait_for(EventKind.OOM)
    assert words == f"{pod}: vllm ran out of memory and restarted"
    kubelets.evict(namespace, pod)
    watched.wait_for(EventKind.EVICTED)
    settled(watched, name, 1)
    kubelets.behave(Behaviour.CRASH_LOOP, labelled(app="engine"))
    watched.wait_for(EventKind.CRASH_LOOP)
    kubelets.behave(Behaviour.RUNS, labelled(app="engine"))
    settled(watched, name, 1)
    apply(cluster, engines(namespace, replicas=9))
    watched.wait_for(EventKind.UNSCHEDULABLE)
    apply(cluster, engines(namespace))
    settled(watched, name, 1)
    assert len(watched.events(EventKind.CRASH_LOOP)) == 1


def test_what_happens_to_nodes_is_told_to_whoever_has_pods_there(
    cluster: Cluster, namespace: str, watched: Watched, kubelets: Kubelets, node: str
) -> None:
    apply(cluster, engines(namespace))
    watched.start()
    name = f"{namespace}/engine"
    settled(watched, name, 1)
    kubelets.set_condition(node, "MemoryPressure", "True")
    ((owner, _, words),) = watched.wait_for(EventKind.NODE_PRESSURE)
    assert (owner, words) == (name, f"node {node}: MemoryPressure")
    kubelets.set_condition(node, "MemoryPressure", "False")
    cluster.rest.merge(cluster.rest.get("Node", node), {"spec": {"unschedulable": True}})
    watched.wait_for(EventKind.NODE_DRAINED)
    new = kubelets.replace_node(node)
    ((owner, _, _),) = watched.wait_for(EventKind.NODE_GONE)
    assert owner == name
    told = watched.wait_for(EventKind.NODE_REPLACED)
    assert [words for _, _, words in told] == [f"node {new} takes the place of {node} in workers"]


def test_a_controller_that_is_killed_neither_loses_nor_doubles_an_event(
    cluster: Cluster, namespace: str, watched: Watched, kubelets: Kubelets, node: str
) -> None:
    apply(cluster, engines(namespace))
    watched.start()
    name = f"{namespace}/engine"
    settled(watched, name, 1)
    (pod,) = [one.name for one in engine_pods(watched.endpoints()[name])]
    kubelets.crash(namespace, pod)
    watched.wait_for(EventKind.RESTART)
    watched.kill()

    kubelets.oom_kill(namespace, pod)
    cluster.wait_until(lambda: _restarts(cluster, namespace, pod) == 2, "the second restart")
    apply(cluster, engines(namespace, replicas=3))
    cluster.wait_until(lambda: _available(cluster, namespace) == 3, "three engines")
    watched.start()
    settled(watched, name, 3)
    watched.kill()

    apply(cluster, engines(namespace, replicas=3, image="vllm/vllm-openai:v0.33.0"))
    cluster.wait_until(lambda: _available(cluster, namespace) == 3, "three new engines")
    watched.start()
    settled(watched, name, 3)
    kinds = (
        EventKind.APPEARED, EventKind.RESTART, EventKind.OOM, EventKind.SCALED_OUT, EventKind.ROLLOUT,
        EventKind.IMAGE_CHANGED, EventKind.SCALED_IN,
    )  # fmt: skip
    assert [len(watched.events(kind)) for kind in kinds] == [0, 1, 1, 1, 1, 1, 0]

    before = watched.events()
    watched.kill()
    watched.start()
    settled(watched, name, 3)
    assert watched.events() == before


def _restarts(cluster: Cluster, namespace: str, pod: str) -> int:
    statuses = cluster.rest.get("Pod", pod, namespace)["status"]["containerStatuses"]
    return int(statuses[0]["restartCount"])


def _available(cluster: Cluster, namespace: str) -> int:
    """Available pods of the newest revision; 0 while older ones are there."""
    found = cluster.rest.get("Deployment", "engine", namespace, "apps/v1")
    status = found["status"]
    is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
    is_whole = status.get("updatedReplicas", 0) == status.get("replicas", 0)
    return int(status.get("availableReplicas", 0)) if is_seen and is_whole else 0
