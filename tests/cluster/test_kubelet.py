"""The stand-in for kubelets: engines get scheduled, become ready, fail in every way, and nodes with them."""

from __future__ import annotations

import pytest

from tests.cluster.kubelet import Kubelets, labelled
from tests.cluster.nodes import Machine
from tests.cluster.pod_states import Behaviour
from tests.cluster.workloads import condition_of, engine_deployment, engine_pod
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest


class Scene:
    """One namespace, seen by a test."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.rest = cluster.rest
        self.namespace = namespace

    def pods(self) -> list[Manifest]:
        return self.rest.objects("Pod", self.namespace)

    def pod(self) -> Manifest:
        """The only pod that is not about to go."""
        (one,) = [pod for pod in self.pods() if "deletionTimestamp" not in pod["metadata"]]
        return one

    def container(self) -> Manifest:
        return dict(self.pod()["status"]["containerStatuses"][0])

    def deploy(self, replicas: int = 1) -> None:
        """Deploy engines; returns when all are available."""
        self.rest.apply(engine_deployment(self.namespace, replicas=replicas))
        self.cluster.wait_until(lambda: self.available() == replicas, "the engines")

    def available(self) -> int:
        found = self.rest.get("Deployment", "engine", self.namespace, "apps/v1")
        return int(found["status"].get("availableReplicas", 0))


@pytest.fixture
def scene(cluster: Cluster, namespace: str) -> Scene:
    return Scene(cluster, namespace)


def test_engines_are_scheduled_on_gpus_and_become_available(scene: Scene, kubelets: Kubelets) -> None:
    node = kubelets.add_node(Machine(group="inference", gpus=4))
    scene.deploy(replicas=4)
    pods = scene.pods()
    assert {one["spec"]["nodeName"] for one in pods} == {node}
    assert len({one["status"]["podIP"] for one in pods}) == 4
    status = scene.container() if len(pods) == 1 else pods[0]["status"]["containerStatuses"][0]
    assert status["restartCount"] == 0
    assert status["imageID"].startswith("vllm/vllm-openai@sha256:")
    labels = scene.rest.get("Node", node)["metadata"]["labels"]
    assert labels["sagemaker.amazonaws.com/instance-group-name"] == "inference"


def test_an_engine_that_asks_too_much_stays_unschedulable(scene: Scene, kubelets: Kubelets) -> None:
    kubelets.add_node(Machine(gpus=4))
    scene.rest.create(engine_pod(scene.namespace, gpus=5))
    scene.cluster.wait_until(lambda: condition_of(scene.pod(), "PodScheduled") != {}, "the scheduler")
    told = condition_of(scene.pod(), "PodScheduled")
    assert (told["status"], told["reason"]) == ("False", "Unschedulable")
    assert "Insufficient nvidia.com/gpu" in told["message"]


def test_a_deleted_pod_goes_and_its_successor_has_another_address(scene: Scene, kubelets: Kubelets) -> None:
    kubelets.add_node()
    scene.deploy()
    first = scene.pod()
    scene.rest.delete(first)
    scene.cluster.wait_until(lambda: [_uid(pod) == _uid(first) for pod in scene.pods()] == [False], "another")
    # the Deployment may still count the first as available
    scene.cluster.wait_until(lambda: "podIP" in scene.pod()["status"], "the successor's address")
    assert scene.pod()["status"]["podIP"] != first["status"]["podIP"]


def test_a_test_gives_pods_their_addresses(scene: Scene, kubelets: Kubelets) -> None:
    kubelets.choose_address = lambda pod: "127.0.0.9" if pod["metadata"]["namespace"] == scene.namespace else None
    kubelets.add_node()
    scene.deploy()
    assert scene.pod()["status"]["podIP"] == "127.0.0.9"


@pytest.mark.parametrize(("end", "reason", "code"), [("oom_kill", "OOMKilled", 137), ("crash", "Error", 1)])
def test_a_container_that_ended_once_is_ready_again(
    scene: Scene, kubelets: Kubelets, end: str, reason: str, code: int
) -> None:
    kubelets.add_node()
    scene.deploy()
    getattr(kubelets, end)(scene.namespace, scene.pod()["metadata"]["name"])
    scene.cluster.wait_until(lambda: scene.container()["ready"], "the container's second start")
    status = scene.container()
    last = status["lastState"]["terminated"]
    assert (status["restartCount"], last["reason"], last["exitCode"]) == (1, reason, code)
    assert "running" in status["state"]


@pytest.mark.parametrize(
    ("behaviour", "waiting", "last"),
    [
        (Behaviour.CRASH_LOOP, "CrashLoopBackOff", "Error"),
        (Behaviour.OOM_LOOP, "CrashLoopBackOff", "OOMKilled"),
        (Behaviour.NEVER_STARTS, "ImagePullBackOff", None),
        (Behaviour.NEVER_READY, None, None),
    ],
)
def test_an_engine_that_never_gets_ready_says_why(
    scene: Scene, kubelets: Kubelets, behaviour: Behaviour, waiting: str | None, last: str | None
) -> None:
    kubelets.behave(behaviour, labelled(app="engine"))
    kubelets.add_node()
    scene.rest.apply(engine_deployment(scene.namespace))
    scene.cluster.wait_until(lambda: any("podIP" in one["status"] for one in scene.pods()), "the pod")
    status = scene.container()
    assert not status["ready"]
    assert status["state"].get("waiting", {}).get("reason") == waiting
    assert status["lastState"].get("terminated", {}).get("reason") == last
    assert condition_of(scene.pod(), "Ready")["status"] == "False"
    assert scene.available() == 0
    kubelets.behave(Behaviour.RUNS, labelled(app="engine"))
    scene.cluster.wait_until(lambda: scene.available() == 1, "the engine once it is repaired")


def test_an_evicted_pod_failed_and_another_takes_its_place(scene: Scene, kubelets: Kubelets) -> None:
    kubelets.add_node()
    scene.deploy()
    name = scene.pod()["metadata"]["name"]
    kubelets.evict(scene.namespace, name)
    scene.cluster.wait_until(lambda: len(scene.pods()) == 2 and scene.available() == 1, "the successor")
    found = scene.rest.get("Pod", name, scene.namespace)["status"]
    assert (found["phase"], found["reason"]) == ("Failed", "Evicted")


def test_a_node_under_pressure_or_silent_takes_no_more_engines(scene: Scene, kubelets: Kubelets) -> None:
    node = kubelets.add_node()
    scene.deploy()
    kubelets.set_condition(node, "DiskPressure", "True")
    scene.cluster.wait_until(lambda: _taints(scene, node) == {"node.kubernetes.io/disk-pressure"}, "the taint")
    kubelets.set_condition(node, "DiskPressure", "False")
    kubelets.lose_node(node)
    scene.cluster.wait_until(lambda: _taints(scene, node) == {"node.kubernetes.io/unreachable"}, "the other taint")
    scene.cluster.wait_until(lambda: scene.available() == 0, "the pods of a silent node to count as not ready")
    kubelets.regain_node(node)
    scene.cluster.wait_until(lambda: _taints(scene, node) == set(), "no taint")
    scene.cluster.wait_until(lambda: scene.available() == 1, "the engine when its node is back")


def test_a_replaced_node_takes_its_engines_with_it(scene: Scene, kubelets: Kubelets) -> None:
    first = kubelets.add_node()
    scene.deploy()
    before = scene.pod()
    second = kubelets.replace_node(first)
    scene.cluster.wait_until(lambda: _runs_on(scene, second), "the engine on the other node")
    assert _uid(scene.pod()) != _uid(before)
    assert scene.rest.find("Node", first) is None


def _runs_on(scene: Scene, node: str) -> bool:
    pods = scene.pods()
    return [one["spec"].get("nodeName") for one in pods] == [node] and scene.available() == 1


def _taints(scene: Scene, node: str) -> set[str]:
    taints = scene.rest.get("Node", node)["spec"].get("taints", [])
    return {one["key"] for one in taints}


def _uid(one: Manifest) -> str:
    return str(one["metadata"]["uid"])
