"""Changes of HyperPod's endpoints on a real cluster: the operator's stand-in, kubelets, and the changer around them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller.api.client import Api
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.backends import BACKENDS
from controller.changes.changer import Progress, Verified
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.parts import Parts
from controller.changes.kube.reader import KubeReader
from controller.changes.kube.rollout import Patience
from controller.changes.kube.verify import Verifier
from controller.changes.planners import PLANNERS
from controller.inventory import Inventory
from controller.objects import Objects
from tests.cluster.hyperpod import endpoint
from tests.cluster.rendering import API, KIND, SYSTEM
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Plan, Preview, Refusal
from tierdeck.changes.proof import Proof, Verdict
from tierdeck.changes.wish import Wish


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A preflight that finds nothing: what planners say is what is looked at."""

    refusals: Sequence[Refusal] = ()
    warnings: Sequence[str] = ()


class ChangingHyperpod:
    """The endpoint `chat` of one namespace, and changes of it."""

    def __init__(self, cluster: Cluster, namespace: str, name: str = "chat") -> None:
        """
        Args:
            name: of what is changed.
        """
        self.name = name
        self.cluster, self.namespace, self.rest = cluster, namespace, cluster.rest
        self.api = Api.of(cluster.client())
        parts = Parts(self.look, PLANNERS, lambda *_: Unchecked(), lambda *_: _NO_PROOF)
        reader = KubeReader(self.api)
        patience = Patience(unscheduled=5.0, rendering=15.0)
        verifier = Verifier(reader, time.time, self.look, fetch=lambda _url: None, patience=patience)
        self.changer = KubernetesChanger(self.api, parts, verifier)

    def make(self, **spec: object) -> None:
        """The endpoint, rendered and ready."""
        self.rest.apply(endpoint(self.namespace, "chat", **spec), manager="kubectl-client-side-apply")
        self.cluster.wait_until(
            lambda: self.config().get("status", {}).get("state") == "DeploymentComplete", "an endpoint that is ready"
        )
        self.cluster.wait_until(lambda: all(_is_ready(one) for one in self.pods()), "pods that are ready")

    def look(self) -> Objects:
        mirror = Mirror("east")
        watches = Watches(self.api, mirror, (self.namespace, SYSTEM), threading.Event())
        watches.list_once()
        objects = mirror.look()
        Inventory(BACKENDS, (), ()).look(objects, (), time.time())
        watches.ask(objects.asked)
        return mirror.look()

    def config(self) -> Manifest:
        return self.rest.get(KIND, "chat", self.namespace, API)

    def spec(self) -> Manifest:
        found: Manifest = self.config()["spec"]
        return found

    def engine(self) -> Manifest:
        """The worker's container as the operator rendered it."""
        made = self.rest.get("Deployment", "chat", self.namespace, "apps/v1")
        found: Manifest = made["spec"]["template"]["spec"]["containers"][0]
        return found

    def router_args(self) -> list[str]:
        made = self.rest.get("Deployment", f"chat-{self.namespace}-router", SYSTEM, "apps/v1")
        found: list[str] = made["spec"]["template"]["spec"]["containers"][0]["args"]
        return found

    def pods(self) -> list[Manifest]:
        found = self.rest.objects("Pod", self.namespace)
        return [one for one in found if one["metadata"].get("labels", {}).get("app") == "chat"]

    def change(self, wish: Wish) -> Change:
        return Change("east", f"{self.namespace}/{self.name}", wish, "ann", "", "key", 0.0, {"strategy": "prefixaware"})

    def planned(self, wish: Wish, reverted: Change | None = None) -> Plan:
        plan = self.changer.plan(self.change(wish), reverted)
        assert isinstance(plan, Plan), plan
        return plan

    def refused(self, wish: Wish) -> list[str]:
        found = self.changer.plan(self.change(wish), None)
        assert not isinstance(found, Plan), found
        return [one.code for one in found]

    def made(self, wish: Wish, reverted: Change | None = None) -> tuple[Change, Verified]:
        """A change from its plan to what reading back says."""
        preview: Preview = self.changer.preview(self.planned(wish, reverted), 1.0)
        at = time.time()
        assert self.changer.apply(preview.plan, "")
        found: list[Verified] = []

        def is_over() -> bool:
            found.append(self.changer.verify(preview.plan, at))
            return found[-1].progress is not Progress.WAITING

        self.cluster.wait_until(is_over, "the end of the change")
        return replace(self.change(wish), id=1, state=State.KEPT, preview=preview), found[-1]

    def owned(self) -> Manifest:
        """The fields of the custom resource that are ours."""
        (ours,) = [one for one in self.config()["metadata"]["managedFields"] if one["manager"] == "tierdeck"]
        found: Manifest = ours["fieldsV1"]["f:spec"]
        return found


_NO_PROOF = Proof(Verdict.CANNOT_TELL, "", "", (), 0, 0.0, 0.0)


def _is_ready(pod: Manifest) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
