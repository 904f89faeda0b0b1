"""Fixtures for every test: a real Kubernetes control plane, and a fresh namespace on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the Kubernetes client takes a second to import, which only those pay that use it
    from tests.support.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One control plane for all tests, without nodes; tests leave it as they found it."""
    from tests.support.cluster import running_cluster  # noqa: PLC0415

    with running_cluster() as one:
        yield one


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """A control plane for this test alone, which may break it."""
    from tests.support.cluster import running_cluster  # noqa: PLC0415

    with running_cluster() as one:
        yield one


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace with its service account; it goes with all that is in it."""
    from tests.support.cluster_namespace import fresh_namespace  # noqa: PLC0415

    with fresh_namespace(cluster) as name:
        yield name
