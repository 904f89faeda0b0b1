"""Fixtures for every test: a real Kubernetes control plane, a fresh namespace, and stand-ins for what runs there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# How long a busy machine takes says nothing of what is tested.
settings.register_profile("tierdeck", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tierdeck")

# The Kubernetes client takes a second to import, which only those tests pay that use it: hence the inner imports.
if TYPE_CHECKING:
    from tests.cluster.hyperpod import Hyperpod
    from tests.cluster.kubelet import Kubelets
    from tests.support.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One control plane for all tests, with the custom resources and without nodes; tests leave it as they found it."""
    from tests.support.cluster import running_cluster  # noqa: PLC0415
    from tests.support.cluster_crds import install_crds  # noqa: PLC0415

    with running_cluster() as one:
        install_crds(one)
        yield one


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A control plane for this test alone, which may break it; without the custom resources."""
    from tests.support.cluster import running_cluster  # noqa: PLC0415

    with running_cluster() as one:
        yield one


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace with its service account; it goes with all that is in it."""
    from tests.support.cluster_namespace import fresh_namespace  # noqa: PLC0415

    with fresh_namespace(cluster) as name:
        yield name


@pytest.fixture
def kubelets(cluster: Cluster) -> Iterator[Kubelets]:
    """Makes nodes, and runs what is scheduled on them."""
    from tests.cluster.kubelet import running_kubelets  # noqa: PLC0415

    with running_kubelets(cluster) as ours:
        yield ours


@pytest.fixture
def hyperpod(cluster: Cluster) -> Iterator[Hyperpod]:
    """The stand-in for HyperPod's operator."""
    from tests.cluster.hyperpod import running_hyperpod  # noqa: PLC0415

    with running_hyperpod(cluster) as operator:
        yield operator
