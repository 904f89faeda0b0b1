"""Each way of deploying, on a real cluster at once: endpoints and pools are found with their strategy and sizes."""

from __future__ import annotations

from pathlib import Path

from controller.backends import BACKENDS
from tests.cluster.examples import write
from tests.cluster.kubelet import running_kubelets
from tests.cluster.nodes import Machine
from tests.cluster.watched import Watched
from tests.support.cluster import Cluster
from tests.support.cluster_crds import install_crds
from tierdeck.deployed import Component, Deployed

GIB = 2**30
EXAMPLES = (
    "hyperpod",
    "hyperpod-jumpstart",
    "production-stack",
    "production-stack-helm",
    "deployment",
    "curvine",
)
STRATEGIES = {
    "hyperpod": "prefixaware",
    "hyperpod-jumpstart": "",
    "production-stack": "kvaware",
    "production-stack-helm": "session",
    "deployment": "cache_aware",
}
L1_BYTES = {
    "hyperpod": 80 * GIB,  # 40 GiB of two ranks
    "hyperpod-jumpstart": 0,  # off
    "production-stack": None,  # 4Gi, which LMCache can't read
    "deployment": 60 * GIB,
}


def test_endpoints_and_pools_of_every_kind_are_found_at_once(own_cluster: Cluster, tmp_path: Path) -> None:
    install_crds(own_cluster)
    with running_kubelets(own_cluster) as kubelets, Watched(tmp_path, own_cluster.kubeconfig) as watched:
        for _ in range(3):
            kubelets.add_node(Machine(gpus=8, instance_type="ml.g6e.12xlarge"))
        write(own_cluster, *EXAMPLES)
        watched.start()
        watched.until(lambda: _backends(watched) == {backend.name for backend in BACKENDS}, "all kinds")
        watched.until(lambda: _strategies(watched) == STRATEGIES, "the strategies, one of them from a ConfigMap")
        found = {one.backend: one for one in watched.endpoints().values()}
        assert {name: found[name].configured.l1.size_bytes for name in L1_BYTES} == L1_BYTES
        (pool,) = watched.pools().values()
        # each of 2 workers: 200 GB and 100 GB, in Curvine's units of 1,024
        watched.until(lambda: _pool_bytes(watched) == 2 * 300 * GIB, "the pool's ConfigMap")
        assert pool.name == "curvine/curvine"
        for name in ("hyperpod", "production-stack", "deployment"):
            watched.until(lambda name=name: _is_running(watched, name), f"engines of {name}")  # type: ignore[misc]
        known = {endpoint.name for endpoint in watched.store.endpoints("test")}
        assert known == set(watched.endpoints())


def _backends(watched: Watched) -> set[str]:
    return {one.backend for one in (*watched.endpoints().values(), *watched.pools().values())}


def _strategies(watched: Watched) -> dict[str, str]:
    return {one.backend: one.configured.strategy.value for one in watched.endpoints().values()}


def _pool_bytes(watched: Watched) -> int | None:
    (pool,) = watched.pools().values()
    return pool.configured.l2.size_bytes


def _is_running(watched: Watched, backend: str) -> bool:
    (one,) = [known for known in watched.endpoints().values() if known.backend == backend]
    return bool(_ready(one)) and one.effective.l0.said != ""


def _ready(one: Deployed) -> list[str]:
    pods = [pod for pod in one.pods if pod.is_ready]
    return [pod.name for pod in pods if any(run.component is Component.ENGINE for run in pod.containers)]
