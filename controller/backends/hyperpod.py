"""HyperPod's inference operator: InferenceEndpointConfig and JumpStartModel.

Sources: aws/sagemaker-hyperpod-cli, inference-operator chart 2.2.2 (CRDs, v1); AWS documentation on caching and
routing and on disaggregated prefill and decode (names and labels of what the operator makes).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from controller.backend import Found as Result
from controller.backends.hyperpod_stated import Statement, read_statement, stated_problems
from controller.objects import Objects
from controller.reading.endpoints import assemble
from controller.reading.fields import labels, mapping, named, text, whole
from controller.reading.lineage import Found, parse_selector, selects, template_labels
from controller.reading.owners import Path
from controller.reading.parts import Parts
from controller.reading.scene import Scene
from controller.resources import DEPLOYMENTS, ENDPOINT_CONFIGS, JUMPSTART_MODELS, PODS, Resource
from tierdeck.deployed import Component, ObjectRef, Stated
from tierdeck.fleet import Role

ROUTER_NAMESPACE = "hyperpod-inference-system"
ROUTER_PORT = 8081
DPD_ROLE = "inference.sagemaker.aws.amazon.com/dpd-role"
_ROLES = {"prefill": Role.PRODUCER, "decode": Role.CONSUMER}
_SPEC: tuple[Path, ...] = (("spec", "intelligentRoutingSpec"), ("spec", "kvCacheSpec"))
_ENDPOINT_FIELDS: tuple[Path, ...] = (
    *_SPEC,
    ("spec", "worker", "args"),
    ("spec", "worker", "environmentVariables"),
    ("spec", "pdSpec", "prefillSpec", "args"),
    ("spec", "pdSpec", "decodingSpec", "args"),
)
_MODEL_FIELDS: tuple[Path, ...] = (*_SPEC, ("spec", "environmentVariables"))


class HyperPod:
    """One endpoint per custom resource of a kind."""

    def __init__(self, name: str, resource: Resource, fields: tuple[Path, ...], model: Path) -> None:
        """
        Args:
            fields: where the object keeps strategy and sizes.
            model: where it names its model.
        """
        self.name = name
        self._resource = resource
        self._fields = fields
        self._model = model

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Result]:
        scene = Scene(objects)
        return [self._endpoint(scene, one) for one in named(objects, self._resource)]

    def _endpoint(self, scene: Scene, source: Found) -> Result:
        ref, raw = source
        engines = engines_of(scene, ref)
        routers = tuple(scene.lineage.get(DEPLOYMENTS, ROUTER_NAMESPACE, f"{ref.name}-{ref.namespace}-router"))
        given = {ref.name: Component.ENGINE, "router-container": Component.ROUTER}
        statement = read_statement(scene, source, engines, given)
        return assemble(
            scene,
            Parts(
                self.name,
                source,
                statement.configured,
                engines=engines,
                routers=routers,
                loose=_selected(scene, source, engines),
                roles={one[0]: role for one in engines if (role := _role(ref, one)) is not None},
                fields=self._fields,
                model=text(raw, *self._model),
                wanted=_wanted(raw),
                given=given,
                engine_port=whole(raw, "spec", "worker", "modelInvocationPort", "containerPort"),
                router_port=ROUTER_PORT,
                needs_connector=False,
                no_router=_no_router(statement),
                problems=tuple(stated_problems(scene, source, statement, engines, routers)),
            ),
        )


def engines_of(scene: Scene, ref: ObjectRef) -> tuple[Found, ...]:
    """The Deployments that the operator makes: the object's name, or `prefill-` and `decode-` before it."""
    found = scene.lineage.get(DEPLOYMENTS, ref.namespace, ref.name)
    for role in _ROLES:
        for one in scene.lineage.get(DEPLOYMENTS, ref.namespace, f"{role}-{ref.name}"):
            if _dpd_role(one) == role:
                found.append(one)
    return tuple(found)


def _dpd_role(one: Found) -> str:
    return labels(one[1], "metadata", "labels").get(DPD_ROLE) or template_labels(one[1]).get(DPD_ROLE, "")


def _role(ref: ObjectRef, one: Found) -> Role | None:
    return _ROLES.get(_dpd_role(one)) if one[0].name != ref.name else None


def _selected(scene: Scene, source: Found, engines: Sequence[Found]) -> tuple[Found, ...]:
    """Pods that `status.selector` picks, or the label `app`, where no Deployment of the operator's is seen."""
    ref, raw = source
    if engines:
        return ()
    selector: Mapping[str, Any] = parse_selector(text(raw, "status", "selector") or f"app={ref.name}")
    return tuple(
        (pod, one)
        for pod, one in named(scene.objects, PODS)
        if pod.namespace == ref.namespace and selects(selector, labels(one, "metadata", "labels"))
    )


def _wanted(raw: Mapping[str, Any]) -> int | None:
    """Replicas that are asked for: of prefill and decode together, where they are apart."""
    apart = mapping(raw, "spec", "pdSpec")
    if apart:
        counts = [whole(apart, part, "replicas") for part in ("prefillSpec", "decodingSpec")]
        return sum(1 if count is None else count for count in counts)
    return whole(raw, "spec", "replicas")


def _no_router(statement: Statement) -> Stated | None:
    return None if statement.is_routed else statement.configured.strategy


HYPERPOD = HyperPod("hyperpod", ENDPOINT_CONFIGS, _ENDPOINT_FIELDS, ("spec", "modelName"))
HYPERPOD_JUMPSTART = HyperPod("hyperpod-jumpstart", JUMPSTART_MODELS, _MODEL_FIELDS, ("spec", "model", "modelId"))
