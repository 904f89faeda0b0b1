"""Every planner on a real API server: what it plans is taken, stands there then, and is taken back."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from threading import Event

import pytest

from controller.api.client import Api
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.backends import BACKENDS
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.fields import get, same
from controller.changes.kube.parts import Parts
from controller.changes.kube.reader import KubeReader
from controller.changes.planners import PLANNERS
from controller.inventory import Inventory
from controller.objects import Objects
from controller.resources import HYPERPOD_GROUP
from tests.cluster.changing import PROOF, Fine
from tests.cluster.examples import write
from tests.support.cluster import Cluster
from tests.support.cluster_crds import install_crds
from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan, Refusal, Surface
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.deployed import Deployed

EXAMPLES = ("hyperpod", "hyperpod-jumpstart", "production-stack", "production-stack-helm", "deployment", "curvine")
GIB = 2**30
WISHES = (
    *(Wish(strategy=name) for name in ("roundrobin", "session", "prefixaware", "kvaware", "round_robin", "random")),
    Wish(l0=L0Wish(share=0.7)),
    Wish(l0=L0Wish(size_bytes=8 * GIB)),
    Wish(l0=L0Wish(blocks=4096)),
    Wish(l1_bytes=16 * GIB),
    Wish(l1_bytes=0),
    Wish(l0=L0Wish(share=0.7), l1_bytes=16 * GIB),
    Wish(l2_bytes=1200 * GIB),
)


@pytest.fixture
def bench(own_cluster: Cluster) -> Bench:
    install_crds(own_cluster)
    write(own_cluster, *EXAMPLES)
    argo = {"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": None}}}  # which would only be exported
    for config in own_cluster.rest.objects("InferenceEndpointConfig", api=f"{HYPERPOD_GROUP}/v1"):
        own_cluster.rest.merge(config, argo)
    return Bench(own_cluster)


class Bench:
    """One cluster with an endpoint of each kind."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.api = Api.of(cluster.client())
        self.reader = KubeReader(self.api)
        self.changer = KubernetesChanger(self.api, Parts(self.look, PLANNERS, lambda *_: Fine(), lambda *_: PROOF))

    def look(self) -> Objects:
        """With the ConfigMaps that workloads name, as the controller's watches have them."""
        mirror = Mirror("east")
        watches = Watches(self.api, mirror, (), Event())
        watches.list_once()
        seen = mirror.look()
        Inventory(BACKENDS, (), ()).look(seen, (), time.time())
        watches.ask(seen.asked)
        return mirror.look()

    def endpoints(self) -> list[Deployed]:
        found = Inventory(BACKENDS, (), ()).look(self.look(), (), time.time()).sighting.deployed
        return [one for one in found if not one.is_pool]

    def specs(self, plan: Plan) -> dict[str, object]:
        """Of the objects that are written, what people set."""
        found = {}
        for one in plan.writes:
            raw = self.reader.get(one.ref)
            assert raw is not None
            found[str(one.ref)] = _sorted({key: raw[key] for key in ("spec", "data") if key in raw})
        return found


def _sorted(value: object) -> object:
    """Variables by name: one that goes and comes back is the last one then."""
    if isinstance(value, dict):
        return {key: sorted(one, key=lambda item: str(item["name"])) if key == "env" and isinstance(one, list)
                else _sorted(one) for key, one in value.items()}  # fmt: skip
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def test_each_plan_is_taken_and_taken_back(bench: Bench) -> None:
    made: dict[str, set[str]] = defaultdict(set)
    refused: dict[str, set[str]] = defaultdict(set)
    for endpoint in bench.endpoints():
        for wish in WISHES:
            change = Change("east", endpoint.endpoint, wish, "ann", "", "k", 0.0, {"strategy": "roundrobin"})
            plan = bench.changer.plan(change, None)
            if not isinstance(plan, Plan):
                assert all(isinstance(one, Refusal) and one.reason for one in plan)
                refused[endpoint.backend].add(wish.text)
                continue
            assert all(one.surface is Surface.KUBERNETES for one in plan.writes)
            made[endpoint.backend].add(wish.text)
            _there_and_back(bench, change, plan)
    # the example of a JumpStartModel has neither a router nor anything else that could be changed
    known = {name for planner in PLANNERS for name in planner.names} - {"hyperpod-jumpstart"}
    backends = {one.backend for one in bench.endpoints()}
    assert set(made) == known & backends, dict(refused)


def _there_and_back(bench: Bench, change: Change, plan: Plan) -> None:
    told = f"{change.endpoint}: {change.wish.text}"
    before = bench.specs(plan)
    preview = bench.changer.preview(plan, 1.0)
    assert preview.diff, told
    assert bench.specs(plan) == before, told
    assert bench.changer.apply(plan, ""), told
    for one in plan.writes:
        live = bench.reader.get(one.ref)
        assert all(same(get(live, edit.path), edit.after, edit.path) for edit in one.edits), told
    assert not bench.changer.apply(plan, ""), told
    back = bench.changer.plan(change, replace(change, id=1, preview=preview))
    assert isinstance(back, Plan), (told, back)
    assert bench.changer.apply(back, ""), told
    left = [edit for one in plan.writes for edit in one.edits if edit.back is not None]
    if not left:
        assert bench.specs(plan) == before, told
    for one in back.writes:
        live = bench.reader.get(one.ref)
        assert all(same(get(live, edit.path), edit.after, edit.path) for edit in one.edits), told
