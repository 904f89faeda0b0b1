"""The engines of a cluster as stage 4 looks at them: their workloads, their running pods, and who opted in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from controller.injector.wired import Wired, engine_of, wired
from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.fields import items, mapping, text
from controller.reading.lineage import Found, Lineage, template_spec
from controller.reading.opted_in import Wanted, policy_of
from controller.reading.origin import Origin, origin_of
from controller.reading.pods import is_running
from controller.resources import DEPLOYMENTS, STATEFUL_SETS, Resource
from controller.stage import View
from tierdeck.deployed import ObjectRef
from tierdeck.l2.policy import L2Policy


@dataclass(frozen=True, slots=True)
class Engine:
    """A workload whose template runs an engine.

    Attributes:
        template: as if a pod of it were made now.
        wanted: what its pods get.
        pods: those that run, each with what it comes from.
    """

    workload: Found
    template: Origin
    wanted: Wanted
    pods: tuple[Origin, ...]

    @property
    def name(self) -> str:
        """Of its endpoint, `namespace/name`."""
        ref = self.template.endpoint
        return f"{ref.namespace}/{ref.name}"

    @property
    def source(self) -> ObjectRef:
        """What an operator edits: the custom resource, else the workload."""
        return self.template.endpoint


def engines_of(view: View) -> list[Engine]:
    """In the order of names."""
    lineage = Lineage(view.objects)
    found = []
    for one in lineage.workloads(DEPLOYMENTS, STATEFUL_SETS):
        template = _template(view.objects, one)
        if engine_of(template, Configs(view.objects, one[0].namespace)) is None:
            continue
        pods = tuple(_origin(view.objects, pod[1], one[0].namespace) for pod in lineage.pods(one) if is_running(pod[1]))
        found.append(Engine(one, template, policy_of(view.file, template.objects), pods))
    return sorted(found, key=lambda one: (one.name, one.workload[0].name))


def chosen(view: View, names: Sequence[str]) -> list[Engine]:
    """Engines of these endpoints; without names those that opted in."""
    found = engines_of(view)
    if names:
        return [one for one in found if one.name in names]
    return [one for one in found if isinstance(one.wanted, L2Policy)]


def wiring_of(view: View, origin: Origin, policy: L2Policy) -> Wired | str:
    """What wires a pod, or why nothing can."""
    return wired(origin, Configs(view.objects, origin.pod[0].namespace), policy)


def container_of(view: View, origin: Origin) -> str:
    """The name of a pod's engine; empty where it has none."""
    engine = engine_of(origin, Configs(view.objects, origin.pod[0].namespace))
    return engine.name if engine is not None else ""


def _template(objects: Objects, workload: Found) -> Origin:
    ref, raw = workload
    metadata = mapping(raw, "spec", "template", "metadata")
    owner = {
        "apiVersion": "apps/v1",
        "kind": ref.kind,
        "name": ref.name,
        "uid": text(raw, "metadata", "uid"),
        "controller": True,
    }
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    pod = {"metadata": {**kept, "name": ref.name, "ownerReferences": [owner]}, "spec": template_spec(raw)}
    found = _origin(objects, pod, ref.namespace)
    return replace(found, pod=(ObjectRef("pods of", ref.namespace, ref.name), pod))


def _origin(objects: Objects, pod: Raw, namespace: str) -> Origin:
    def get(resource: Resource, where: str, name: str) -> Raw | None:
        return objects.get(resource, where, name)

    return origin_of(pod, namespace, get)


def claims_in_other_containers(origin: Origin, engine: str, claim: str) -> Iterator[str]:
    """Containers besides the engine that mount the claim."""
    spec = mapping(origin.pod[1], "spec")
    volumes = {text(one, "name") for one in items(spec, "volumes")
               if text(one, "persistentVolumeClaim", "claimName") == claim}  # fmt: skip
    for kind in ("initContainers", "containers"):
        for one in items(spec, kind):
            if text(one, "name") != engine and any(
                text(mount, "name") in volumes for mount in items(one, "volumeMounts")
            ):
                yield text(one, "name")
