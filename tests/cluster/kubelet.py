"""A stand-in for the kubelets of machines that don't exist: nodes with heartbeats, pods that start, fail and end."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import requests

from tests.cluster.loops import Loop
from tests.cluster.nodes import Machine, condition, lease
from tests.cluster.pod_states import Behaviour, conditions_of, now, restarted, status_of
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest

_HEARTBEAT_SECONDS = 5.0
_STRATEGIC = "application/strategic-merge-patch+json"

Match = Callable[[Manifest], bool]
"""Whether a pod is meant."""


class Kubelets(Loop):
    """The kubelets of all nodes that it added; pods elsewhere are left alone.

    Attributes:
        ready_after_seconds: How long containers run before they are ready.
        choose_address: The address of a pod, such as one on loopback where a test serves metrics; None: a made-up one.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.ready_after_seconds = 0.0
        self.choose_address: Callable[[Manifest], str | None] = lambda _pod: None
        self._machines: dict[str, Machine] = {}
        self._gone: set[str] = set()
        self._lost: set[str] = set()
        self._unready: set[str] = set()
        self._hosts: dict[str, str] = {}
        self._rules: list[tuple[Match, Behaviour]] = []
        self._written: dict[str, Behaviour] = {}
        self._seen_at: dict[str, float] = {}
        self._addresses = 0
        self._beat_at: dict[str, float] = {}

    def add_node(self, machine: Machine | None = None, name: str = "") -> str:
        """Let a machine join; returns its name once pods can be scheduled on it."""
        machine = machine or Machine()
        name = name or f"hyperpod-i-{uuid.uuid4().hex[:10]}"
        with self.lock:
            self._hosts[name] = f"10.0.{len(self._hosts) // 250}.{len(self._hosts) % 250 + 1}"
            self.rest.create(machine.node(name, self._hosts[name]))
            self.rest.apply(lease(name), manager="kubelet")
            self._machines[name] = machine
        self.cluster.wait_until(lambda: not self._taints(name), f"node {name} without taints")
        return name

    def remove_node(self, name: str) -> None:
        """A machine is terminated: its node and its pods are gone at once."""
        with self.lock:
            self._machines.pop(name)
            self._gone.add(name)  # a pod may be on its way there still: the loop ends that one
            self.rest.delete(_node(name))
            self.rest.delete(lease(name))
            for pod in self._pods_on(name):
                self.rest.delete(pod, gracePeriodSeconds="0")

    def replace_node(self, name: str) -> str:
        """A machine is terminated and another of its kind joins; returns the new name."""
        machine = self._machines[name]
        self.remove_node(name)
        return self.add_node(machine)

    def set_condition(self, name: str, kind: str, status: str) -> None:
        """Report `MemoryPressure` and the like as `True`, or `Ready` as `False`; the controllers set the taints."""
        with self.lock:
            if kind == "Ready":
                (self._unready.discard if status == "True" else self._unready.add)(name)
            self._report(name, condition(kind, status))

    def lose_node(self, name: str) -> None:
        """A machine falls silent: no heartbeats, and its pods stay as they are, whatever happens.

        The node's controller would find that after 50 s; what it would write then is written now.
        """
        unready = {"type": "Ready", "status": "False", "lastTransitionTime": now()}
        with self.lock:
            self._lost.add(name)
            self._report(name, condition("Ready", "Unknown"))
            for pod in self._pods_on(name):
                self._patch(pod, {"conditions": [unready]})

    def regain_node(self, name: str) -> None:
        """A silent machine is back."""
        with self.lock:
            self._lost.discard(name)
            self._report(name, condition("Ready", "True"))

    def behave(self, behaviour: Behaviour, match: Match) -> None:
        """From now on the pods that match behave so, running or to come; the last rule that matches counts."""
        with self.lock:
            self._rules.append((match, behaviour))

    def oom_kill(self, namespace: str, pod: str, container: str = "") -> None:
        """A container is killed for memory once and runs again; without a name the first one."""
        self._restart(namespace, pod, container, ("OOMKilled", 137))

    def crash(self, namespace: str, pod: str, container: str = "") -> None:
        """A container ends with code 1 once and runs again; without a name the first one."""
        self._restart(namespace, pod, container, ("Error", 1))

    def evict(self, namespace: str, pod: str, resource: str = "memory") -> None:
        """The kubelet throws a pod out because its node lacks something."""
        with self.lock:
            found = self.rest.get("Pod", pod, namespace)
            message = f"The node was low on resource: {resource}. "
            failed = [
                {
                    **one,
                    "ready": False,
                    "state": {"terminated": {"reason": "Error", "exitCode": 137, "finishedAt": now()}},
                }
                for one in found["status"].get("containerStatuses", [])
            ]
            status = {"phase": "Failed", "reason": "Evicted", "message": message, "containerStatuses": failed}
            self._patch(found, {**status, "conditions": conditions_of(failed)})

    def round(self) -> None:
        """Heartbeats, then every pod on our nodes."""
        for name in self._machines:
            if name not in self._lost and time.monotonic() >= self._beat_at.get(name, 0.0):
                self.rest.apply(lease(name), manager="kubelet")
                self._beat_at[name] = time.monotonic() + _HEARTBEAT_SECONDS
        for pod in self.rest.objects("Pod"):
            node = pod["spec"].get("nodeName")
            if node in self._machines and node not in self._lost:
                self._look_at(pod)
            elif node in self._gone:
                self.rest.delete(pod, gracePeriodSeconds="0")

    def stop(self) -> None:
        """End the loop, and take nodes and pods away."""
        try:
            super().stop()
        finally:
            with contextlib.suppress(requests.RequestException):  # a test may have ended the API server
                for name in list(self._machines):
                    self.remove_node(name)

    def _look_at(self, pod: Manifest) -> None:
        key = pod["metadata"]["uid"]
        behaviour = self._behaviour(pod)
        if "deletionTimestamp" in pod["metadata"]:
            if behaviour is not Behaviour.STAYS_TERMINATING:
                self.rest.delete(pod, gracePeriodSeconds="0")
            return
        if pod["status"].get("phase") in ("Failed", "Succeeded") or pod["spec"]["nodeName"] in self._unready:
            return
        if behaviour is Behaviour.RUNS and self.ready_after_seconds:
            seen_at = self._seen_at.setdefault(key, time.monotonic())
            if time.monotonic() - seen_at < self.ready_after_seconds:
                behaviour = Behaviour.NEVER_READY
        if self._written.get(key) is behaviour and _is_ready(pod) == _should_be_ready(behaviour):
            return
        host = self._hosts[pod["spec"]["nodeName"]]
        address = pod["status"].get("podIP") or self.choose_address(pod) or self._next_address()
        self._patch(pod, status_of(pod, behaviour, address, host))
        self._written[key] = behaviour

    def _behaviour(self, pod: Manifest) -> Behaviour:
        for match, behaviour in reversed(self._rules):
            if match(pod):
                return behaviour
        return Behaviour.RUNS

    def _restart(self, namespace: str, name: str, container: str, end: tuple[str, int]) -> None:
        with self.lock:
            pod = self.rest.get("Pod", name, namespace)
            chosen = container or pod["spec"]["containers"][0]["name"]
            statuses = pod["status"].get("containerStatuses", [])
            assert any(one["name"] == chosen for one in statuses), f"no container {chosen} runs in {name}"
            changed = [restarted(one, *end) if one["name"] == chosen else one for one in statuses]
            self._patch(pod, {"containerStatuses": changed, "conditions": conditions_of(changed)})
            self._written.pop(pod["metadata"]["uid"], None)  # the loop makes it ready again
            self._seen_at.pop(pod["metadata"]["uid"], None)

    def _next_address(self) -> str:
        self._addresses += 1
        return f"10.244.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def _patch(self, pod: Manifest, status: Manifest) -> None:
        meta = {"uid": pod["metadata"]["uid"]}
        path = self.rest.path_of(pod) + "/status"
        self.rest.request("PATCH", path, {"metadata": meta, "status": status}, _STRATEGIC)

    def _report(self, name: str, new: Manifest) -> None:
        path = self.rest.path("Node", name) + "/status"
        self.rest.request("PATCH", path, {"status": {"conditions": [new]}}, _STRATEGIC)

    def _pods_on(self, name: str) -> list[Manifest]:
        return self.rest.objects("Pod", fieldSelector=f"spec.nodeName={name}")

    def _taints(self, name: str) -> list[Manifest]:
        found: list[Manifest] = self.cluster.rest.get("Node", name)["spec"].get("taints", [])
        return found


def labelled(**labels: str) -> Match:
    """The pods with these labels."""
    return lambda pod: labels.items() <= pod["metadata"].get("labels", {}).items()


@contextmanager
def running_kubelets(cluster: Cluster) -> Iterator[Kubelets]:
    """Kubelets without a node yet; all that they made is gone at the end."""
    kubelets = Kubelets(cluster)
    kubelets.start()
    try:
        yield kubelets
    finally:
        try:
            kubelets.stop()
        finally:
            kubelets.close()


def _node(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def _is_ready(pod: Manifest) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _should_be_ready(behaviour: Behaviour) -> bool:
    return behaviour in (Behaviour.RUNS, Behaviour.STAYS_TERMINATING)
