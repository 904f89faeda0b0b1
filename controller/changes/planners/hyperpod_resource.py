"""A custom resource of HyperPod's as a change is planned on it: read anew, in v1, with what was rendered from it."""

from __future__ import annotations

from dataclasses import dataclass

from controller.backends.hyperpod import ROUTER_NAMESPACE, engines_of
from controller.changes.planner import Look
from controller.objects import Raw
from controller.reading.fields import items, text
from controller.reading.lineage import Found
from controller.reading.pods import is_running
from controller.reading.processes import Process
from controller.resources import DEPLOYMENTS, ENDPOINT_CONFIGS, JUMPSTART_MODELS, Resource
from tierdeck.changes.plan import FieldEdit, Refusal, Write
from tierdeck.deployed import Component, ObjectRef

VERSION = "v1"
"""Source: sagemaker-hyperpod-cli, chart 2.2.2: v1alpha1 has neither kvCacheSpec nor intelligentRoutingSpec, so that
what is written through it loses both."""
_RESOURCES = {one.kind: one for one in (ENDPOINT_CONFIGS, JUMPSTART_MODELS)}


@dataclass(frozen=True, slots=True)
class HyperPodResource:
    """The object and its surroundings.

    Attributes:
        raw: as the API server has it now.
        engines: Deployments that the operator rendered, those of prefill and decode where they are apart.
        routers: its router's Deployment; none where it has none.
    """

    look: Look
    ref: ObjectRef
    raw: Raw
    address: str
    api_version: str
    engines: tuple[Found, ...]
    routers: tuple[Found, ...]

    @property
    def resource(self) -> Resource:
        return _RESOURCES[self.ref.kind]

    @property
    def given(self) -> dict[str, Component]:
        """Components of containers by name: the worker's is called like the object."""
        return {self.ref.name: Component.ENGINE, "router-container": Component.ROUTER}

    @property
    def workloads(self) -> tuple[ObjectRef, ...]:
        return tuple(ref for ref, _ in (*self.routers, *self.engines))

    def write(self, *edits: FieldEdit) -> Write:
        return Write(self.ref, self.address, self.api_version, edits)

    def templates(self) -> list[Process]:
        """The engine of each Deployment's template."""
        found = [self.look.scene.template(one, self.given).of(Component.ENGINE) for one in self.engines]
        return [one for one in found if one is not None]

    def pods(self) -> list[Found]:
        """Engine pods that run."""
        return [pod for one in self.engines for pod in self.look.scene.lineage.pods(one) if is_running(pod[1])]

    def running(self) -> list[Process]:
        """The engine of each running pod, as it was admitted."""
        found = [self.look.scene.pod(pod, self.given).of(Component.ENGINE) for pod in self.pods()]
        return [one for one in found if one is not None]

    def variables(self) -> list[Raw]:
        """Those that the object states for its engines."""
        inner = () if self.resource is JUMPSTART_MODELS else ("worker",)
        return items(self.raw, "spec", *inner, "environmentVariables")

    def router(self) -> Process | None:
        """The router as its Deployment states it."""
        found = [self.look.scene.template(one, self.given).of(Component.ROUTER) for one in self.routers]
        return next((one for one in found if one is not None), None)


def read_resource(look: Look) -> HyperPodResource | Refusal:
    """The object that the endpoint comes from.

    Raises:
        TierdeckError: of a kind of `controller.api.errors`.
    """
    ref = look.deployed.source
    address, api_version = look.reader.address_of(ref)
    if api_version.rpartition("/")[2] != VERSION:
        return Refusal(
            "not_possible",
            f"{ref} is served as {api_version}, which has neither kvCacheSpec nor intelligentRoutingSpec.",
            "Upgrade the inference operator to one that serves v1.",
        )
    raw = look.reader.get(ref)
    if raw is None:
        return Refusal("unreadable", f"{ref} is no longer there.", "Look at the endpoints again.")
    if text(raw, "metadata", "deletionTimestamp"):
        return Refusal("unreadable", f"{ref} is being deleted.", "Make it anew first.")
    lineage = look.scene.lineage
    routers = lineage.get(DEPLOYMENTS, ROUTER_NAMESPACE, f"{ref.name}-{ref.namespace}-router")
    return HyperPodResource(look, ref, raw, address, api_version, engines_of(look.scene, ref), tuple(routers))
