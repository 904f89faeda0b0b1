"""A namespace of a test's own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.cluster import Cluster


@contextmanager
def fresh_namespace(cluster: Cluster) -> Iterator[str]:
    """Its name; pods can be made in it. Whoever deletes it does not wait for its end."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    cluster.rest.create(namespace)
    account = ("ServiceAccount", "default", name)
    cluster.wait_until(lambda: cluster.rest.find(*account) is not None, f"the service account of {name}")
    try:
        yield name
    finally:
        cluster.rest.delete(namespace)
