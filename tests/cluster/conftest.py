"""Fixtures of the tests on a Kubernetes control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.helm import Helm, helm_program
from tests.support.kube_rest import Rest


@pytest.fixture
def rest(cluster: Cluster) -> Iterator[Rest]:
    """The administrator."""
    one = cluster.rest.another()
    yield one
    one.close()


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    """Helm without a cluster."""
    return Helm(helm_program(), tmp_path)


@pytest.fixture
def installing_helm(tmp_path: Path, cluster: Cluster) -> Helm:
    """Helm as the administrator of the cluster."""
    return Helm(helm_program(), tmp_path, cluster.kubeconfig)
