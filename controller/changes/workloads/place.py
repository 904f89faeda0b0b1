"""A container in a workload's template, read anew: where an edit goes, and what it starts now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.changes.planner import Look
from controller.changes.refused import RefusedError
from controller.objects import Raw
from controller.reading.fields import flag, items, text, whole
from controller.reading.lineage import template_spec
from controller.reading.processes import Process, Spec, read_process, read_spec
from tierdeck.deployed import Component, ObjectRef

_TEMPLATE = ("spec", "template", "spec")


@dataclass(frozen=True, slots=True)
class Place:
    """One container of a Deployment, StatefulSet or DaemonSet.

    Attributes:
        raw: the workload as it is now.
        spec: all processes of its template.
        process: what this container starts.
        address, api_version: of the workload, for its write.
    """

    ref: ObjectRef
    raw: Raw
    spec: Spec
    process: Process
    address: str
    api_version: str

    @property
    def container(self) -> Raw:
        return self.process.container

    @property
    def path(self) -> tuple[str, ...]:
        """Of the container, from the workload's root."""
        is_first = any(text(one, "name") == self.process.name for one in items(self.raw, *_TEMPLATE, "containers"))
        return (*_TEMPLATE, "containers" if is_first else "initContainers", f"[name={self.process.name}]")

    def with_container(self, container: Raw) -> Process:
        """What it would start."""
        old = self.process
        return read_process(container, old.volumes, old.configs, old.where)


def place_in(look: Look, ref: ObjectRef, component: Component) -> Place:
    """The container that runs a component.

    Raises:
        RefusedError: it is not there, or an edit of it would start nothing.
    """
    raw = look.reader.get(ref)
    if raw is None:
        raise RefusedError("changed_meanwhile", f"{ref} is not there any more")
    spec = read_spec(template_spec(raw), look.scene.configs(ref.namespace), str(ref))
    process = spec.of(component)
    if process is None:
        raise RefusedError("changed_meanwhile", f"{ref} runs no {component.value} any more")
    for sentence, fix in _holds(ref, raw):
        raise RefusedError("silent_no_op", sentence, fix)
    return Place(ref, raw, spec, process, *look.reader.address_of(ref))


def refs_of(look: Look, component: Component) -> list[ObjectRef]:
    """The endpoint's workloads that run a component."""
    return [one.ref for one in look.deployed.workloads if component in {part for _, part in one.components}]


def _holds(ref: ObjectRef, raw: Raw) -> Iterator[tuple[str, str]]:
    """Why a written template makes no new pods."""
    if flag(raw, "spec", "paused"):
        yield f"{ref} is paused, so that nothing rolls out", f"Run kubectl rollout resume {_short(ref)} first."
    if text(raw, "spec", "updateStrategy", "type") == "OnDelete":
        yield (
            f"{ref} updates a pod only when somebody deletes it (OnDelete)",
            "Set its updateStrategy to RollingUpdate.",
        )
    partition = whole(raw, "spec", "updateStrategy", "rollingUpdate", "partition")
    if partition:
        yield f"{ref} updates no pod below number {partition} (partition)", "Set its partition to 0."


def _short(ref: ObjectRef) -> str:
    return f"{ref.kind.lower()}/{ref.name} -n {ref.namespace}"
