"""A real API server with a large fleet written into it; neither controllers nor kubelets run, so that it is at rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster, running_cluster
from tests.support.kube_rest import Manifest, Rest

NAMESPACES = 4
_WRITERS = 8


@contextmanager
def filled_cluster(endpoints: int, replicas: int) -> Iterator[Cluster]:
    """Deployments of engines with their ReplicaSets and running pods."""
    with running_cluster() as cluster:
        for number in range(NAMESPACES):
            cluster.rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{number}"}})
            account = ("ServiceAccount", "default", f"team-{number}")
            cluster.wait_until(lambda account=account: cluster.rest.find(*account) is not None, "an account")  # type: ignore[misc]
        for program in (cluster.controllers, cluster.scheduler):
            program.kill()
        shares = [range(first, endpoints, _WRITERS) for first in range(_WRITERS)]
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(lambda share: _write(cluster, share, replicas), shares))
        yield cluster


def _write(cluster: Cluster, numbers: range, replicas: int) -> None:
    rest = cluster.rest.another()
    for number in numbers:
        _endpoint(rest, number, replicas)
    rest.close()


def _endpoint(rest: Rest, number: int, replicas: int) -> None:
    namespace, name = f"team-{number % NAMESPACES}", f"chat-{number:03d}"
    made = engine_deployment(namespace, name, replicas=replicas)
    made["spec"]["template"]["spec"]["containers"][0]["args"] = ["--model", "an/llm", "--gpu-memory-utilization=0.9"]
    deployment = rest.create(made)
    template = made["spec"]["template"]
    revision = {"deployment.kubernetes.io/revision": "1"}
    labels = {"app": name, "pod-template-hash": "5f6d8"}
    template["metadata"]["labels"] = labels
    owner = _owner("apps/v1", "Deployment", deployment)
    replica_set = rest.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-5f6d8", "namespace": namespace, "labels": labels, "annotations": revision,
                "ownerReferences": [owner],
            },
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }
    )  # fmt: skip
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), replicas)
    rest.merge(deployment, {"status": {**counts, "observedGeneration": 1}}, "/status")
    for replica in range(replicas):
        address = f"10.{number // 250 + 1}.{number % 250}.{replica + 1}"
        _pod(rest, replica_set, template, replica, address)


def _pod(rest: Rest, replica_set: Manifest, template: Manifest, number: int, address: str) -> None:
    meta = replica_set["metadata"]
    pod = rest.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{meta['name']}-{number:05d}",
                "namespace": meta["namespace"],
                "labels": template["metadata"]["labels"],
                "ownerReferences": [_owner("apps/v1", "ReplicaSet", replica_set)],
            },
            "spec": {**template["spec"], "nodeName": f"node-{number}"},
        }
    )
    rest.merge(pod, {"status": running(address, 0)}, "/status")


def running(address: str, restarts: int) -> Manifest:
    """The status of a pod whose engine runs."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    container: Manifest = {
        "name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "imageID": "vllm@sha256:1", "ready": True,
        "restartCount": restarts, "state": {"running": {"startedAt": now}},
    }  # fmt: skip
    if restarts:
        container["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": now}}
    return {
        "phase": "Running",
        "podIP": address,
        "containerStatuses": [container],
        "conditions": [{"type": "Ready", "status": "True"}],
    }


def _owner(api: str, kind: str, one: Manifest) -> Manifest:
    meta = one["metadata"]
    return {"apiVersion": api, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}
