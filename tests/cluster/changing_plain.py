"""Changes by the real planners on a real API server: a plain engine, its router, and production-stack's objects."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

from controller.api.client import Api
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.parts import Parts
from controller.changes.planners import PLANNERS
from controller.looking import look_once
from controller.objects import Objects
from tests.cluster.changing import PROOF, Fine
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.settings import Settings

HAND = "kubectl-client-side-apply"
CANARY = "canary-5c1e"
_TRANSFER = ["--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}']


class PlainChanging:
    """The changes of one endpoint, `engine`, each applied as far as the API server."""

    def __init__(self, cluster: Cluster, namespace: str, name: str = "engine") -> None:
        self.cluster, self.namespace, self._name = cluster, namespace, name
        self._settings = Settings(cluster="east", kubeconfig=cluster.kubeconfig, kube_namespaces=namespace)
        self._numbers = itertools.count(1)
        parts = Parts(self.look, PLANNERS, lambda *_: Fine(), lambda *_: PROOF)
        self.changer = KubernetesChanger(Api.of(cluster.client()), parts)

    def look(self) -> Objects:
        return look_once(self._settings, time.time()).objects

    def write(self, *manifests: Manifest) -> None:
        """As a hand would."""
        for one in manifests:
            self.cluster.rest.apply(one, manager=HAND)

    def live(self, kind: str, name: str, api: str = "apps/v1") -> Manifest:
        return self.cluster.rest.get(kind, name, self.namespace, api)

    def container(self, name: str = "engine", kind: str = "Deployment") -> Manifest:
        """The first of a workload's template."""
        found: Manifest = self.live(kind, name)["spec"]["template"]["spec"]["containers"][0]
        return found

    def plan(self, wish: Wish, reverted: Change | None = None) -> Plan | tuple[Refusal, ...]:
        return self.changer.plan(self._change(wish), reverted)

    def made(self, wish: Wish) -> Change:
        """The change once it is written, as the store keeps it."""
        return self._written(wish, None)

    def back(self, change: Change) -> Change:
        """Its revert, once that is written."""
        return self._written(change.wish, change)

    def _written(self, wish: Wish, reverted: Change | None) -> Change:
        change = self._change(wish)
        plan = self.changer.plan(change, reverted)
        assert isinstance(plan, Plan), plan
        preview = self.changer.preview(plan, time.time())
        assert CANARY not in f"{preview}", "a secret is neither in a plan nor in its diff"
        assert self.changer.apply(preview.plan, "")
        assert not self.changer.apply(preview.plan, ""), "nothing is written twice"
        return replace(change, state=State.KEPT, preview=preview)

    def _change(self, wish: Wish) -> Change:
        number = next(self._numbers)
        name = f"{self.namespace}/{self._name}"
        return Change("east", name, wish, "ann", "", f"key-{number}", 0.0, {}, id=number)


def engine(namespace: str, *args: str, **env: str) -> Manifest:
    """Two ranks, LMCache inside, 64 GiB asked for, 80 GiB at most; a secret among its variables."""
    controller = {"LMCACHE_ENABLE_CONTROLLER": "True", "LMCACHE_CONTROLLER_PULL_URL": "gate:9000"}
    variables = {"HF_TOKEN": CANARY, **controller, **env}
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "command": ["vllm", "serve"],
        "args": ["an/llm", "--tensor-parallel-size", "2", *_TRANSFER, *args],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "resources": {"requests": {"memory": "64Gi"}, "limits": {"memory": "80Gi"}},
    }
    return deployment(namespace, "engine", container)


def router(namespace: str, *args: str, image: str = "lmcache/lmstack-router:v0.1.7", **more: object) -> Manifest:
    """Before that engine."""
    words = ["--service-discovery", "k8s", "--k8s-label-selector", "app=engine", *args]
    volumes = more.pop("volumes", None)
    made = deployment(namespace, "gate", {"name": "router", "image": image, "args": words, **more})
    if volumes is not None:
        made["spec"]["template"]["spec"]["volumes"] = volumes
    return made


def deployment(namespace: str, name: str, container: Manifest) -> Manifest:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
