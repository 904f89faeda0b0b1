"""Plain Deployments and StatefulSets whose container runs vLLM, with the router whose arguments point at them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from controller.backend import Found as Result
from controller.objects import Objects
from controller.reading.configured import sizes_of
from controller.reading.endpoints import assemble, model_of
from controller.reading.fields import field, items, text
from controller.reading.lineage import Found
from controller.reading.owners import Path
from controller.reading.parts import Parts
from controller.reading.processes import Process
from controller.reading.routers import strategy_of
from controller.reading.scene import Scene
from controller.reading.surroundings import coordinators_of, router_workloads, routers_of, template_server
from controller.resources import ENDPOINT_CONFIGS, JUMPSTART_MODELS, VLLM_RUNTIMES
from tierdeck.deployed import Component, ObjectRef, Stated

_CONTAINER = ("spec", "template", "spec", "containers", "*")
FIELDS: tuple[Path, ...] = ((*_CONTAINER, "args"), (*_CONTAINER, "command"), (*_CONTAINER, "env"))


class PlainDeployment:
    """Any Deployment or StatefulSet that nobody else claimed."""

    name = "deployment"

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Result]:
        scene = Scene(objects)
        return [
            assemble(scene, parts_of(scene, one, engine, self.name))
            for one, engine in scene.running(Component.ENGINE)
            if one[0] not in taken and not _is_left_over(scene, one)
        ]


def _is_left_over(scene: Scene, one: Found) -> bool:
    """It is being deleted, or what it was made for is: it will be gone in a moment, and is nobody's endpoint."""
    if field(one[1], "metadata", "deletionTimestamp"):
        return True
    kinds = {resource.kind: resource for resource in (ENDPOINT_CONFIGS, JUMPSTART_MODELS, VLLM_RUNTIMES)}
    made_for = [owner for owner in items(one[1], "metadata", "ownerReferences") if text(owner, "kind") in kinds]
    return any(
        scene.objects.sees(kinds[text(owner, "kind")])
        and scene.objects.get(kinds[text(owner, "kind")], one[0].namespace, text(owner, "name")) is None
        for owner in made_for
    )


def parts_of(scene: Scene, one: Found, engine: Process, backend: str, companions: tuple[Found, ...] = ()) -> Parts:
    """An endpoint whose source is the workload itself."""
    ref = one[0]
    routers = routers_of(scene, one)
    strategy, problems = template_strategy(scene, one, routers)
    sizes = sizes_of(engine, scene.storage(ref.namespace), template_server(scene, scene.template(one), engine))
    return Parts(
        backend,
        one,
        sizes.with_strategy(strategy),
        engines=(one,),
        routers=routers,
        companions=(*companions, *coordinators_of(scene, engine, ref.namespace)),
        fields=FIELDS,
        model=model_of(engine),
        problems=(*problems, *_made_by(one)),
    )


def _made_by(one: Found) -> Iterator[str]:
    """An owner that is not read, for want of rights or because its kind is not known: the next rendering is its."""
    for owner in items(one[1], "metadata", "ownerReferences"):
        if text(owner, "kind"):
            made = f"{text(owner, 'kind')} {text(owner, 'name')}".strip()
            yield f"{one[0]} is made by {made}, which is not read here: a change belongs there."


def template_strategy(scene: Scene, one: Found, routers: Sequence[Found]) -> tuple[Stated, tuple[str, ...]]:
    """What its routers' templates state, and what can't be told of them."""
    ref = one[0]
    found = [strategy_of(process) for router in routers
             if (process := scene.template(router).of(Component.ROUTER)) is not None]  # fmt: skip
    if not found:
        nearby = [str(router[0]) for router, _ in router_workloads(scene) if router[0].namespace == ref.namespace]
        problems = tuple(f"{name} is a router, but its arguments don't say that it routes to {ref}." for name in nearby)
        return Stated.unknown("no router is found that routes to it"), problems
    if len({stated.value for stated in found}) > 1:
        listed = ", ".join(str(router[0]) for router in routers)
        return Stated.unknown(f"several routers with different strategies route to it: {listed}"), ()
    return found[0], ()


DEPLOYMENT = PlainDeployment()
