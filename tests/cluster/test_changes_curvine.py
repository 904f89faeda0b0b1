"""A Curvine pool on a real API server: it grows by workers, and a revert takes them away."""

from __future__ import annotations

import json

from controller.changes.changer import Progress
from tests.cluster.changing_hyperpod import ChangingHyperpod
from tests.cluster.kubelet import Kubelets
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tests.support.manifests import documents
from tierdeck.changes.wish import Wish

GIB = 1 << 30


def pool(namespace: str) -> list[Manifest]:
    """Workers and their ConfigMap as the example has them: 300 GiB each."""
    found: list[Manifest] = json.loads(json.dumps(documents("curvine")))
    kept = [one for one in found if one["metadata"]["name"] in ("curvine-worker", "curvine-config")]
    for one in kept:
        one.pop("status", None)
        one["metadata"] = {key: one["metadata"][key] for key in ("name", "labels") if key in one["metadata"]}
        one["metadata"]["namespace"] = namespace
        if one["kind"] == "StatefulSet":
            labels = one["spec"]["template"]["metadata"]["labels"]
            one["spec"] |= {"selector": {"matchLabels": labels}, "podManagementPolicy": "Parallel"}
    return kept


def test_it_grows_and_goes_back(cluster: Cluster, namespace: str, kubelets: Kubelets) -> None:
    kubelets.add_node()
    for one in pool(namespace):
        cluster.rest.apply(one, manager="helm")
    changing = ChangingHyperpod(cluster, namespace, "curvine")

    def replicas() -> int:
        found: int = cluster.rest.get("StatefulSet", "curvine-worker", namespace, "apps/v1")["spec"]["replicas"]
        return found

    change, told = changing.made(Wish(l2_bytes=900 * GIB))
    assert told.progress is Progress.DONE, told
    assert replicas() == 3
    assert change.preview is not None
    assert any("A revert takes them away again" in one for one in change.preview.plan.warnings)
    assert any("helm owns spec.replicas" in one for one in change.preview.plan.warnings)
    back = changing.planned(Wish(l2_bytes=600 * GIB), change)
    assert back.warnings[0].startswith("1 worker less: every chunk there is lost")
    _, told = changing.made(Wish(l2_bytes=600 * GIB), change)
    assert told.progress is Progress.DONE, told
    assert replicas() == 2
