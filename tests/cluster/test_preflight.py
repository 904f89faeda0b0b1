"""The preflight on a real API server: quotas, budgets and nodes as it tells them, and as its scheduler judges them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from controller.api.access import open_api
from controller.api.client import Api
from controller.changes.planner import Load, Look
from controller.changes.preflight import preflight
from controller.looking import look_once
from controller.objects import Raw
from controller.reading.scene import Scene
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tests.support.preflight import CONTAINER, codes, edit, engine, l1_of
from tierdeck.changes.plan import Plan, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef
from tierdeck.settings import Settings

QUOTA = {"hard": {"requests.memory": "140Gi", "requests.nvidia.com/gpu": "3"}}
LIMITS = {"limits": [{"type": "Container", "max": {"memory": "80Gi"}}]}
BUDGET = {"minAvailable": 2, "selector": {"matchLabels": {"app": "chat"}}}


class Lists:
    """Collections as the API server lists them."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def get(self, ref: ObjectRef) -> Raw | None:
        raise AssertionError("what is watched is not read again")

    def list(self, path: str) -> Sequence[Raw]:
        found: list[Raw] = self._api.get(path)["items"]
        return found

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        raise AssertionError("nothing is written")


def looked(cluster: Cluster, namespace: str, account: str = "") -> Look:
    """The endpoint as the administrator sees it; collections as the account does."""
    settings = Settings(kubeconfig=cluster.kubeconfig, kube_namespaces=namespace)
    found = look_once(settings, 0)
    (deployed,) = [one for one in found.sighting.deployed if one.endpoint == f"{namespace}/chat"]
    api = found.api
    if account:
        api = open_api(Settings(kubeconfig=cluster.kubeconfig_for(namespace, account)))
    return Look(found.objects, Scene(found.objects), deployed, Lists(api), 0.0, Load(running=4, waiting=0))


def deployment(namespace: str) -> Manifest:
    """Two replicas of 64 GiB and a GPU, on nodes of this test alone, as Kubernetes rolls out by default."""
    made = engine(template={"nodeSelector": {"for": namespace}})
    made["metadata"] = {"name": "chat", "namespace": namespace}
    del made["status"], made["spec"]["strategy"]
    return made


def serve(cluster: Cluster, kubelets: Kubelets, namespace: str) -> Manifest:
    """A node with two GPUs, and both replicas ready on it."""
    kubelets.add_node(Machine(gpus=2, labels={"for": namespace}))
    made = deployment(namespace)
    cluster.rest.apply(made)
    cluster.wait_until(lambda: _ready(cluster, namespace) == 2, "two ready replicas")
    return made


def _ready(cluster: Cluster, namespace: str) -> int:
    status = cluster.rest.get("Deployment", "chat", namespace, "apps/v1").get("status", {})
    return int(status.get("readyReplicas", 0))


def larger(namespace: str, memory: str) -> Plan:
    """More memory for the engine's container."""
    ref = ObjectRef("Deployment", namespace, "chat")
    edits = tuple(edit((*CONTAINER, "resources", side, "memory"), memory) for side in ("limits", "requests"))
    return Plan((Write(ref, "/x", "apps/v1", edits),), restarts=(ref,))


def bounded(cluster: Cluster, namespace: str) -> None:
    """A quota, a limit range and a budget, with what their controllers say of them."""
    kinds = (("v1", "ResourceQuota", QUOTA), ("v1", "LimitRange", LIMITS), ("policy/v1", "PodDisruptionBudget", BUDGET))
    for api, kind, spec in kinds:
        metadata = {"name": "team", "namespace": namespace}
        cluster.rest.apply({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})

    def is_counted() -> bool:
        quota = cluster.rest.get("ResourceQuota", "team", namespace)
        budget = cluster.rest.get("PodDisruptionBudget", "team", namespace, "policy/v1")
        used = quota.get("status", {}).get("used", {}).get("requests.memory")
        return bool(used == "128Gi" and budget.get("status", {}).get("currentHealthy") == 2)

    cluster.wait_until(is_counted, "what the quota and the budget count")


def test_bounds_are_read_as_the_api_server_tells_them(cluster: Cluster, namespace: str, kubelets: Kubelets) -> None:
    # 2 × 84 + 64 - 2 × 64 = 104 GiB more at the peak, 140 - 128 = 12 are left; 84 - 80 = 4 GiB too much;
    # the node has 2 GPUs, and both are taken
    serve(cluster, kubelets, namespace)
    bounded(cluster, namespace)
    found = preflight(looked(cluster, namespace), larger(namespace, "84Gi"), l1_of(60))
    assert sorted(codes(found)) == ["gpus", "quota", "quota"]
    said = " ".join(one.reason for one in found.refusals)
    assert f"ResourceQuota {namespace}/team leaves 12 GiB of requests.memory, and the change takes 104 GiB more" in said
    assert f"LimitRange {namespace}/team allows 80 GiB of memory" in said
    assert "no node has room for 1 nvidia.com/gpu" in said
    assert [
        one for one in found.warnings if one.startswith(f"PodDisruptionBudget {namespace}/team allows no disruption")
    ]


def test_the_scheduler_judges_the_pod_more_as_the_preflight_did(
    cluster: Cluster, namespace: str, kubelets: Kubelets
) -> None:
    made = serve(cluster, kubelets, namespace)
    assert codes(preflight(looked(cluster, namespace), larger(namespace, "64Gi"), Wish(strategy="session"))) == ["gpus"]
    changed = copy.deepcopy(made)
    changed["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "X", "value": "1"}]
    cluster.rest.apply(changed)

    def waits() -> bool:
        pods = cluster.rest.objects("Pod", namespace, labelSelector="app=chat")
        conditions = [one for pod in pods for one in pod.get("status", {}).get("conditions", [])]
        return any("Insufficient nvidia.com/gpu" in one.get("message", "") for one in conditions)

    cluster.wait_until(waits, "a pod that waits for a GPU")


def test_memory_that_no_node_has_is_refused_with_the_node(cluster: Cluster, namespace: str, kubelets: Kubelets) -> None:
    # the node has 184 GiB: one of 100 fits, 84 are left, 16 GiB = 17,179,869,184 bytes are missing
    serve(cluster, kubelets, namespace)
    found = preflight(looked(cluster, namespace), larger(namespace, "100Gi"), l1_of(76))
    assert codes(found) == ["memory"]
    assert "room for 1 of its 2 pods" in found.refusals[0].reason
    assert "has 84 GiB left" in found.refusals[0].reason
    assert "16 GiB (17,179,869,184 bytes) are missing" in found.refusals[0].reason


def test_rights_that_are_missing_are_said(cluster: Cluster, namespace: str, kubelets: Kubelets) -> None:
    serve(cluster, kubelets, namespace)
    found = preflight(looked(cluster, namespace, "default"), larger(namespace, "64Gi"), Wish(strategy="session"))
    for what in ("ResourceQuota", "LimitRange", "PodDisruptionBudget"):
        assert [one for one in found.warnings if what in one and "may not be read" in one]
