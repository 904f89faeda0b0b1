"""The API server as a fault: it is held, it is away, it comes back, and what the store knew is still there."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests

from tests.cluster.build import PROGRAMS
from tests.cluster.kubelet import Kubelets
from tests.cluster.workloads import engine_deployment
from tests.support.cluster import Cluster, control_plane, running_cluster
from tests.support.kube_rest import Manifest


def _assets(folder: Path) -> Path:
    """The programs as single files, as others lay them out."""
    folder.mkdir()
    programs = control_plane()
    for name in PROGRAMS:
        one = folder / name
        one.write_text(f'#!/bin/sh\nexec {" ".join(programs.command(name))} "$@"\n', "utf-8")
        one.chmod(0o755)
    return folder


def _available(cluster: Cluster) -> int:
    found: Manifest = cluster.rest.get("Deployment", "engine", "default", "apps/v1")
    return int(found["status"].get("availableReplicas", 0))


def test_engines_outlive_an_api_server_that_is_held_and_then_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(_assets(tmp_path / "assets")))
    with running_cluster() as cluster:
        kubelets = Kubelets(cluster)
        kubelets.start()
        kubelets.add_node()
        cluster.rest.apply(engine_deployment("default"))
        cluster.wait_until(lambda: _available(cluster) == 1, "the engine")
        cluster.api_server.hold()
        with pytest.raises(requests.Timeout):
            requests.get(f"{cluster.url}/readyz", verify=str(cluster.ca), timeout=1)
        cluster.api_server.go_on()
        cluster.wait_until(cluster.is_ready, "the API server after it was held")
        cluster.api_server.kill()
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{cluster.url}/readyz", verify=str(cluster.ca), timeout=5)
        cluster.start_api_server()
        cluster.rest.apply(engine_deployment("default", replicas=2))
        cluster.wait_until(lambda: _available(cluster) == 2, "a second engine")
        cluster.api_server.stop()
        kubelets.stop()  # it can't take its nodes away, and does not mind
        kubelets.close()
