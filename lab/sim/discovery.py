"""The fleet's targets as Prometheus's HTTP service discovery gives them, with the labels of a usual cluster.

Source: Prometheus, "Writing HTTP service discovery": a list of `{"targets": [...], "labels": {...}}`.
"""

from __future__ import annotations

from lab.sim.fleet import Fleet
from lab.sim.inventory import url_path
from tierdeck.fleet import FLEET

NAMESPACE = "inference"
_JSON_ONLY = "curvine-master-api"


def http_sd(fleet: Fleet, address: str) -> list[dict[str, object]]:
    """One entry a target; shared processes are pods of their own, as they are in a cluster.

    Args:
        address: host and port of the lab.
    """
    found: list[dict[str, object]] = []
    for owner, replica, source in fleet.targets():
        if source == _JSON_ONLY:
            continue
        kind = source.partition(".")[0]
        pod = replica if replica != FLEET else f"{owner}-{source.replace('.', '-')}-0"
        labels = {
            "__metrics_path__": url_path(owner, replica, source),
            "job": kind,
            "namespace": NAMESPACE,
            "pod": pod,
            "instance": f"{pod}:{kind}",
        }
        found.append({"targets": [address], "labels": labels})
    return found
