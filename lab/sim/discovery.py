"""The fleet's targets as Prometheus's HTTP service discovery gives them, with the labels of a usual cluster.

Source: Prometheus, "Writing HTTP service discovery": a list of `{"targets": [...], "labels": {...}}`.
"""

from __future__ import annotations

from lab.sim.fleet import Fleet
from lab.sim.inventory import url_path
from tierdeck.fleet import FLEET, source_kind

NAMESPACE = "inference"
_JSON_ONLY = "curvine-master-api"


def http_sd(fleet: Fleet, address: str) -> list[dict[str, object]]:
    """One entry a target.

    Args:
        address: host and port of the lab.
    """
    return [
        {"targets": [address], "labels": {"__metrics_path__": url_path(*names), **labels_of(*names)}}
        for names in fleet.targets()
        if names[2] != _JSON_ONLY
    ]


def labels_of(owner: str, replica: str, source: str) -> dict[str, str]:
    """The labels of a target; processes that replicas share are pods of their own, as they are in a cluster."""
    kind = str(source_kind(source))
    pod = replica if replica != FLEET else f"{owner}-{source.replace('.', '-')}-0"
    return {"job": kind, "namespace": NAMESPACE, "pod": pod, "instance": f"{pod}:{kind}"}
