"""The controller on 200 endpoints with 10 replicas each: at rest, listing everything anew, and how soon it tells.

The peer of the list is the Kubernetes library reading the same pods, and nothing else, into its own objects.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

from kubernetes.client import CoreV1Api

from controller.api.client import Api
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.backends import BACKENDS
from controller.inventory import Inventory
from tests.bench import Measure, measure
from tests.bench._filled_cluster import filled_cluster, running
from tests.cluster.watched import Watched
from tests.support.cluster import Cluster
from tierdeck.events import EventKind

ENDPOINTS, REPLICAS = 200, 10
_FIRST_LOOKS_SECONDS = 10.0
"""Not measured: the looks that follow the first one."""
_REST_SECONDS = 60.0
_EVENTS = 11
_PAGE = 500


def run() -> list[Measure]:
    with filled_cluster(ENDPOINTS, REPLICAS) as cluster, tempfile.TemporaryDirectory() as folder:
        listed, looked = _listed(cluster)
        peer = _library(cluster)
        with Watched(Path(folder), cluster.kubeconfig) as watched:
            began = time.monotonic()
            watched.start()
            first = time.monotonic() - began
            share, memory = _at_rest(watched)
            delays = _delays(cluster, watched)
    what = f"{ENDPOINTS} endpoints x {REPLICAS}"
    return [
        measure(f"{what}: a full re-list", listed + looked, "s", at_most=10),
        measure("its list alone beside its peer", listed, "s", peer=("the library reads the pods", peer)),
        measure("from the start of the process until all is in the store", first, "s"),
        measure(f"{what}: at rest", 100 * share, "% of a core", at_most=5),
        measure("memory of that process", memory, "MiB"),
        measure("a restart of a pod until its event is in the store, median", statistics.median(delays), "s"),
        measure("the same, the slowest", max(delays), "s", at_most=3),
    ]


def _listed(cluster: Cluster) -> tuple[float, float]:
    """Seconds to list everything, and to find the endpoints in it."""
    mirror = Mirror("test")
    began = time.monotonic()
    Watches(Api.of(cluster.client()), mirror, (), threading.Event()).list_once()
    listed = time.monotonic()
    seen = Inventory(BACKENDS, (), ()).look(mirror.look(), (), time.time())
    assert len(seen.endpoints) == ENDPOINTS, len(seen.endpoints)
    assert sum(len(one.replicas) for one in seen.endpoints) == ENDPOINTS * REPLICAS
    return listed - began, time.monotonic() - listed


def _library(cluster: Cluster) -> float:
    api = CoreV1Api(cluster.client())
    began, count, token = time.monotonic(), 0, ""
    while count == 0 or token:
        page = api.list_pod_for_all_namespaces(limit=_PAGE, _continue=token)
        count += len(page.items)
        token = (page.metadata and page.metadata._continue) or ""
    assert count == ENDPOINTS * REPLICAS
    return time.monotonic() - began


def _at_rest(watched: Watched) -> tuple[float, float]:
    """Share of a core, and resident MiB, once the first looks are over."""
    time.sleep(_FIRST_LOOKS_SECONDS)
    began, used = time.monotonic(), watched.cpu_seconds()
    time.sleep(_REST_SECONDS)
    return (watched.cpu_seconds() - used) / (time.monotonic() - began), watched.memory_mib()


def _delays(cluster: Cluster, watched: Watched) -> list[float]:
    delays = []
    rest = cluster.rest.another()
    pods = rest.objects("Pod", "team-0")
    for number in range(_EVENTS):
        pod = pods[number * 37]
        began = time.monotonic()
        rest.merge(pod, {"status": running(pod["status"]["podIP"], 1)}, "/status")
        watched.wait_for(EventKind.RESTART, number + 1)
        delays.append(time.monotonic() - began)
        time.sleep(0.3 * number)  # at other moments between two looks
    rest.close()
    return delays
