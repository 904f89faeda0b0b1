"""The controller as a process of its own, with exactly the rights that the chart gives it, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.rights import rule
from controller.pod_proxy import through_proxy
from controller.resources import NODES, REPLICA_SETS, STORAGE_CLASSES
from tests.cluster.kubelet import Kubelets
from tests.cluster.nodes import Machine
from tests.cluster.watched import CLUSTER, Watched
from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster
from tests.support.cluster_namespace import fresh_namespace
from tests.support.helm import Helm
from tests.support.kube_rest import Manifest, RefusedError, Rest
from tierdeck.fleet import Endpoint, Replica, ReplicaKey, Target

RBAC = "rbac.authorization.k8s.io/v1"
ACCOUNT = "deck-tierdeck-controller"


@pytest.fixture
def installed(installing_helm: Helm, namespace: str) -> Iterator[str]:
    """The namespace of an install as it comes."""
    with installing_helm.installed("deck", namespace):
        yield namespace


@pytest.fixture
def serving(cluster: Cluster, kubelets: Kubelets, rest: Rest) -> Iterator[str]:
    """A namespace with an engine that runs."""
    kubelets.add_node(Machine(gpus=8))
    with fresh_namespace(cluster) as name:
        _run_engine(cluster, rest, name)
        yield name


def _run_engine(cluster: Cluster, rest: Rest, namespace: str) -> Manifest:
    """Its pod, once it has an address."""
    rest.apply(engine_deployment(namespace))
    cluster.wait_until(lambda: any(_running(rest, namespace)), "an engine that runs")
    return _running(rest, namespace)[0]


def _running(rest: Rest, namespace: str) -> list[Manifest]:
    pods = rest.objects("Pod", namespace, labelSelector="app=engine")
    return [pod for pod in pods if pod["status"].get("podIP")]


def _watched(cluster: Cluster, folder: Path, namespace: str, **environment: str) -> Watched:
    """The controller as the chart's service account."""
    return Watched(folder, cluster.kubeconfig_for(namespace, ACCOUNT), **environment)


def _endpoint(watched: Watched, namespace: str) -> Endpoint:
    """The engine's endpoint with a target, as soon as it is known."""

    def known() -> list[Endpoint]:
        return [one for one in watched.store.endpoints(CLUSTER) if one.name == f"{namespace}/engine" and _urls(one)]

    watched.until(lambda: bool(known()), "the endpoint")
    return known()[0]


def _urls(one: Endpoint) -> list[str]:
    return [target.url for replica in one.replicas for target in replica.targets]


def _logged(watched: Watched, event: str) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in watched.log.read_text("utf-8").splitlines() if line.startswith("{")]
    return [one for one in told if one["event"] == event]


def test_with_the_charts_rights_it_sees_all_that_it_asks_for(
    cluster: Cluster, rest: Rest, installed: str, serving: str, tmp_path: Path
) -> None:
    # HyperPod's and production-stack's resources are known to this server too.
    address = _running(rest, serving)[0]["status"]["podIP"]
    with _watched(cluster, tmp_path, installed) as watched:
        watched.start()
        assert _urls(_endpoint(watched, serving)) == [f"http://{address}:8000/metrics"]
        assert watched.store.blind(CLUSTER) == []
        assert len(_logged(watched, "controller_started")) == 1
        assert _logged(watched, "right_missing") == []
        assert _logged(watched, "watch_failed") == []


def test_behind_a_proxy_the_targets_lead_through_it(
    cluster: Cluster, rest: Rest, installed: str, serving: str, tmp_path: Path
) -> None:
    proxy, pod = "http://127.0.0.1:8001", _running(rest, serving)[0]["metadata"]["name"]
    with _watched(cluster, tmp_path, installed, TIERDECK_POD_PROXY=proxy) as watched:
        watched.start()
        assert _urls(_endpoint(watched, serving)) == [
            f"{proxy}/api/v1/namespaces/{serving}/pods/{pod}:8000/proxy/metrics"
        ]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_api_server_understands_the_proxys_paths(
    cluster: Cluster, rest: Rest, kubelets: Kubelets, namespace: str, scheme: str
) -> None:
    # It lets nobody through to loopback, and says so only once it has found the pod and its port.
    kubelets.choose_address = lambda _pod: "127.0.0.1"
    kubelets.add_node(Machine(gpus=8))
    pod = _run_engine(cluster, rest, namespace)["metadata"]["name"]
    key = ReplicaKey("east", "chat", "chat-0")
    own = Replica(key, (Target(key, "vllm", f"{scheme}://127.0.0.1:8000/metrics"),))
    (target,) = through_proxy(cluster.url, {"127.0.0.1": (namespace, pod)}, own).targets
    with pytest.raises(RefusedError, match="address not allowed"):
        rest.request("GET", target.url.removeprefix(cluster.url))


def test_a_rule_that_is_missing_is_told_once_with_the_words_that_grant_it(
    cluster: Cluster, rest: Rest, installed: str, tmp_path: Path
) -> None:
    role = rest.get("ClusterRole", f"{installed}-deck-tierdeck-observe", api=RBAC)
    fewer = [one for one in role["rules"] if REPLICA_SETS.plural not in one["resources"]]
    assert len(fewer) == len(role["rules"]) - 1
    rest.merge(role, {"rules": fewer})
    cluster.wait_until(lambda: not _may_list_replica_sets(cluster, installed), "the role without it")
    with _watched(cluster, tmp_path, installed) as watched:
        watched.start()
        (missing,) = watched.store.blind(CLUSTER)
        assert (missing.blind.what, missing.blind.fix) == (REPLICA_SETS.name, rule(REPLICA_SETS))
        assert f'cannot list resource "{REPLICA_SETS.plural}"' in missing.blind.reason
        first = watched.store.sighted(CLUSTER)[0].at
        # In a quiet cluster nobody looks again for minutes.
        rest.merge(
            rest.get("Deployment", "deck-tierdeck", installed, "apps/v1"), {"metadata": {"annotations": {"is": "seen"}}}
        )
        watched.until(lambda: watched.store.sighted(CLUSTER)[0].at > first, "a second look")
        assert [one["resource"] for one in _logged(watched, "right_missing")] == [REPLICA_SETS.name]
    rest.merge(role, {"rules": [*fewer, *yaml.safe_load(missing.blind.fix)]})
    cluster.wait_until(lambda: _may_list_replica_sets(cluster, installed), "what is told is what grants it")


def _may_list_replica_sets(cluster: Cluster, namespace: str) -> bool:
    caller = cluster.rest_with(cluster.token_for(namespace, ACCOUNT))
    try:
        caller.objects(REPLICA_SETS.kind, api="apps/v1")
    except RefusedError as refused:
        if refused.status != 403:
            raise
        return False
    finally:
        caller.close()
    return True


def test_with_namespaces_and_without_nodes_only_nodes_and_classes_are_missing(
    cluster: Cluster, rest: Rest, installing_helm: Helm, namespace: str, serving: str, tmp_path: Path
) -> None:
    values: Manifest = {"namespaces": [serving], "rights": {"clusterResources": False}}
    with fresh_namespace(cluster) as hidden, installing_helm.installed("deck", namespace, values):
        _run_engine(cluster, rest, hidden)
        spec = rest.get("Deployment", "deck-tierdeck", namespace, "apps/v1")["spec"]["template"]["spec"]
        (controller,) = [one for one in spec["containers"] if one["name"] == "controller"]
        told = {one["name"]: one.get("value", "") for one in controller["env"]}["TIERDECK_KUBE_NAMESPACES"]
        with _watched(cluster, tmp_path, namespace, TIERDECK_KUBE_NAMESPACES=told) as watched:
            watched.start()
            _endpoint(watched, serving)
            assert set(watched.endpoints()) == {f"{serving}/engine"}
            blind = {one.blind.what for one in watched.store.blind(CLUSTER)}
            assert blind == {NODES.name, STORAGE_CLASSES.name}
