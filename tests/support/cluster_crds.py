"""The custom resources that a fleet is written in, made known to a control plane."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.support.cluster import Cluster
from tests.support.kube_rest import RefusedError

CRDS = Path(__file__).parent.parent / "fixtures" / "crds"


def install_crds(cluster: Cluster) -> None:
    """Apply all of them; returns when objects of each can be made and listed."""
    for file in sorted(CRDS.glob("*.yaml")):
        for one in cluster.rest.apply_file(file):
            spec = one["spec"]
            kind, api = spec["names"]["kind"], f"{spec['group']}/{spec['versions'][0]['name']}"
            cluster.wait_until(partial(_served, cluster, kind, api), f"{kind} in {api}")


def _served(cluster: Cluster, kind: str, api: str) -> bool:
    try:
        cluster.rest.objects(kind, api=api)
    except RefusedError as refused:
        if refused.status not in (404, 429):  # not known yet, or its storage is being made
            raise
        return False
    return True
