"""The controller as a process of its own, with exactly the rights that the chart gives it, on a real API server."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.api.rights import rule
from controller.pod_proxy import through_proxy
from controller.resources import NODES, REPLICA_SETS
from db import Store
from tests.support.cluster import Cluster
from tests.support.cluster_namespace import fresh_namespace
from tests.support.deployed_engine import run_engine
from tests.support.helm import Helm
from tests.support.kube_rest import Manifest, RefusedError, Rest
from tests.support.processes import running, wait_until
from tierdeck.fleet import Replica, ReplicaKey, Target

RBAC = "rbac.authorization.k8s.io/v1"
ACCOUNT = "deck-tierdeck-controller"
ADDRESS = "192.0.2.7"
"""A documentation address: nothing is there, and nothing asks it."""


@contextmanager
def controlling(
    cluster: Cluster, tmp_path: Path, namespace: str, **environment: str
) -> Iterator[tuple[Store, Path, subprocess.Popen[bytes]]]:
    """The process and what it writes: its store, open for reading, and its log."""
    log = tmp_path / "controller.log"
    url = f"sqlite:///{tmp_path / 'deck.db'}"
    Store.open(url, migrate=True).close()
    told = {
        "TIERDECK_HOME": str(tmp_path),
        "TIERDECK_DATABASE_URL": url,
        "TIERDECK_CLUSTER": "east",
        "TIERDECK_KUBECONFIG": str(cluster.kubeconfig_for(namespace, ACCOUNT)),
    }
    with running("controller", log=log, **told, **environment) as process, Store.open(url) as store:
        yield store, log, process


def sighted(store: Store, process: subprocess.Popen[bytes]) -> Callable[[], bool]:
    """Whether it has looked once; fails when the process ends."""

    def check() -> bool:
        assert process.poll() is None, "the controller ended"
        return bool(store.sighted("east"))

    return check


def lines(log: Path, event: str) -> list[dict[str, Any]]:
    """What it logged of a kind."""
    told = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{")]
    return [one for one in told if one["event"] == event]


@pytest.fixture
def installed(installing_helm: Helm, namespace: str) -> Iterator[str]:
    """The namespace of an install as it comes."""
    with installing_helm.installed("deck", namespace):
        yield namespace


def test_with_the_charts_rights_it_sees_all_that_it_asks_for(
    cluster: Cluster, rest: Rest, installed: str, tmp_path: Path
) -> None:
    with fresh_namespace(cluster) as serving:
        run_engine(cluster, rest, serving, ADDRESS)
        with controlling(cluster, tmp_path, installed) as (store, log, process):
            wait_until(sighted(store, process), "a first look", log)
            wait_until(lambda: any(serving in one.name for one in store.endpoints("east")), "the endpoint", log)
            (endpoint,) = [one for one in store.endpoints("east") if serving in one.name]
            urls = [target.url for one in endpoint.replicas for target in one.targets]
            assert urls == [f"http://{ADDRESS}:8000/metrics"]
            assert store.blind("east") == []
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
    assert lines(log, "right_missing") == []
    assert lines(log, "watch_failed") == []
    assert len(lines(log, "controller_stopped")) == 1


def test_behind_a_proxy_the_targets_lead_through_it(
    cluster: Cluster, rest: Rest, installed: str, tmp_path: Path
) -> None:
    proxy = "http://127.0.0.1:8001"
    with fresh_namespace(cluster) as serving:
        pod = run_engine(cluster, rest, serving, ADDRESS)["metadata"]["name"]
        with controlling(cluster, tmp_path, installed, TIERDECK_POD_PROXY=proxy) as (store, log, process):
            wait_until(sighted(store, process), "a first look", log)
            wait_until(lambda: any(serving in one.name for one in store.endpoints("east")), "the endpoint", log)
            (endpoint,) = [one for one in store.endpoints("east") if serving in one.name]
            urls = [target.url for one in endpoint.replicas for target in one.targets]
            assert urls == [f"{proxy}/api/v1/namespaces/{serving}/pods/{pod}:8000/proxy/metrics"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_api_server_understands_the_proxys_paths(
    cluster: Cluster, rest: Rest, namespace: str, scheme: str
) -> None:
    # It lets nobody through to loopback, and says so only once it has found the pod and its port.
    pod = run_engine(cluster, rest, namespace, "127.0.0.1")["metadata"]["name"]
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
    with controlling(cluster, tmp_path, installed) as (store, log, process):
        wait_until(sighted(store, process), "a first look", log)
        (missing,) = store.blind("east")
        assert (missing.blind.what, missing.blind.fix) == (REPLICA_SETS.name, rule(REPLICA_SETS))
        assert f'cannot list resource "{REPLICA_SETS.plural}"' in missing.blind.reason
        looks = len(store.sighted("east"))
        assert looks == 1
        assert [one["resource"] for one in lines(log, "right_missing")] == [REPLICA_SETS.name]
    # What is told is what grants it.
    rest.merge(role, {"rules": [*fewer, *yaml.safe_load(missing.blind.fix)]})


def test_with_namespaces_and_without_nodes_only_nodes_and_classes_are_missing(
    cluster: Cluster, rest: Rest, installing_helm: Helm, namespace: str, tmp_path: Path
) -> None:
    with fresh_namespace(cluster) as serving, fresh_namespace(cluster) as hidden:
        run_engine(cluster, rest, serving, ADDRESS)
        run_engine(cluster, rest, hidden, "192.0.2.8")
        values: Manifest = {"namespaces": [serving], "rights": {"clusterResources": False}}
        with installing_helm.installed("deck", namespace, values):
            deployment = rest.get("Deployment", "deck-tierdeck", namespace, "apps/v1")
            (controller,) = [
                one for one in deployment["spec"]["template"]["spec"]["containers"] if one["name"] == "controller"
            ]
            told = {one["name"]: one.get("value", "") for one in controller["env"]}["TIERDECK_KUBE_NAMESPACES"]
            with controlling(cluster, tmp_path, namespace, TIERDECK_KUBE_NAMESPACES=told) as (store, log, process):
                wait_until(sighted(store, process), "a first look", log)
                wait_until(lambda: bool(store.endpoints("east")), "the endpoint", log)
                assert [serving in one.name for one in store.endpoints("east")] == [True]
                assert {one.blind.what for one in store.blind("east")} == {NODES.name, "storageclasses.storage.k8s.io"}
