"""From a person's confirmation until it is written, by the controller's own process on a real API server.

The peer is one server-side apply by itself, of the same kind of field, with nothing looked at before.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import yaml

from tests.bench import Measure, measure
from tests.cluster.changing_plain import engine, router
from tests.cluster.kubelet import running_kubelets
from tests.cluster.nodes import Machine
from tests.cluster.watched import CLUSTER, Watched
from tests.support.cluster import Cluster, running_cluster
from tierdeck.changes.change import Change, State
from tierdeck.changes.wish import Wish

RUNS = 20
_NAMESPACE = "bench"
_STRATEGIES = ("prefixaware", "roundrobin")
_POLL_SECONDS = 0.01
_MOST_SECONDS = 120.0
"""Far beyond the limit: whoever waits longer waits for nothing."""


def run() -> list[Measure]:
    with (
        running_cluster() as cluster,
        running_kubelets(cluster) as kubelets,
        tempfile.TemporaryDirectory() as folder,
    ):
        kubelets.add_node(Machine())
        cluster.rest.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
        for one in (engine(_NAMESPACE), router(_NAMESPACE, "--routing-logic", "roundrobin")):
            cluster.rest.apply(one, manager="kubectl-client-side-apply")
        allowed = Path(folder) / "changes.yaml"
        allowed.write_text(yaml.safe_dump({"namespaces": [_NAMESPACE], "kinds": ["Deployment"]}), "utf-8")
        settings = {"TIERDECK_CHANGES_FILE": str(allowed), "TIERDECK_PROBE_ROUTING": "false"}
        with Watched(Path(folder), cluster.kubeconfig, **settings) as watched:
            watched.start()
            watched.until(lambda: f"{_NAMESPACE}/engine" in watched.endpoints(), "the endpoint")
            took = [_confirmed(cluster, watched, number) for number in range(RUNS)]
            alone = [_alone(cluster, number) for number in range(RUNS)]
    what = f"{RUNS} switches of a router: confirmed until written"
    return [
        measure(f"{what}, median", statistics.median(took), "s", at_most=2),
        measure("the same, the slowest", max(took), "s", at_most=2),
        measure("the same, median, beside its peer", statistics.median(took), "s",
                peer=("one server-side apply alone", statistics.median(alone))),
    ]  # fmt: skip


def _confirmed(cluster: Cluster, watched: Watched, number: int) -> float:
    """Seconds from the approval until the API server has it; then the change is let come to its end."""
    wished = _STRATEGIES[number % 2]
    asked = Change(CLUSTER, f"{_NAMESPACE}/engine", Wish(strategy=wished), "ann", "", f"run-{number}", time.time(), {})
    change = watched.store.propose(asked)
    watched.until(lambda: _state(watched, change.id) is not State.PROPOSED, "the preview")
    assert _state(watched, change.id) is State.PREVIEWED, watched.store.change(change.id)
    time.sleep(0.37 * (number % 7))  # at other moments between two looks
    began = time.monotonic()
    watched.store.approve_change(change.id, "bob", time.time())
    while wished not in _args(cluster):
        assert time.monotonic() - began < _MOST_SECONDS, watched.store.change(change.id)
        time.sleep(_POLL_SECONDS)
    took = time.monotonic() - began
    watched.until(lambda: _state(watched, change.id).is_over, "its end")
    assert _state(watched, change.id) is State.KEPT, watched.store.change(change.id)
    return took


def _alone(cluster: Cluster, number: int) -> float:
    """Seconds of one server-side apply of the same field."""
    manifest = router(_NAMESPACE, "--routing-logic", _STRATEGIES[number % 2])
    began = time.monotonic()
    cluster.rest.apply(manifest, manager="peer")
    return time.monotonic() - began


def _args(cluster: Cluster) -> list[str]:
    live = cluster.rest.get("Deployment", "gate", _NAMESPACE, "apps/v1")
    found: list[str] = live["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def _state(watched: Watched, number: int) -> State:
    found = watched.store.change(number)
    assert found is not None
    return found.state
