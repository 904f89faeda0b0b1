"""Deployments of production-stack's Helm chart: engines, the release's router and its cache server.

Source: vllm-project/production-stack, helm/templates: deployment-vllm-multi.yaml (labels `model` and
`helm-release-name`, container `vllm`), deployment-router.yaml (`<release>-deployment-router`, container
`router-container`), deployment-cache-server.yaml (`<release>-deployment-cache-server`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from controller.backend import Found as Result
from controller.backends.deployment import parts_of, template_strategy
from controller.objects import Objects
from controller.reading.endpoints import assemble
from controller.reading.lineage import Found, template_labels
from controller.reading.lmcache import Settings
from controller.reading.processes import Process
from controller.reading.scene import Scene
from controller.resources import DEPLOYMENTS
from tierdeck.deployed import Component, ObjectRef

_RELEASE = "helm-release-name"


class ProductionStackHelm:
    """One endpoint per `modelSpec`; several share the release's router."""

    name = "production-stack-helm"

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Result]:
        scene = Scene(objects)
        return [
            self._endpoint(scene, one, engine, release)
            for one, engine in scene.running(Component.ENGINE)
            if one[0] not in taken and (release := release_of(one))
        ]

    def _endpoint(self, scene: Scene, one: Found, engine: Process, release: str) -> Result:
        namespace = one[0].namespace
        caches = scene.lineage.get(DEPLOYMENTS, namespace, f"{release}-deployment-cache-server")
        parts = parts_of(scene, one, engine, self.name, tuple(caches))
        if not parts.routers:
            named = scene.lineage.get(DEPLOYMENTS, namespace, f"{release}-deployment-router")
            routers = tuple(router for router in named if scene.template(router).of(Component.ROUTER) is not None)
            strategy, problems = template_strategy(scene, one, routers)
            configured = replace(parts.configured, strategy=strategy)
            parts = replace(parts, routers=routers, configured=configured, problems=problems)
        return assemble(scene, replace(parts, problems=(*parts.problems, *_traps(one, engine))))


def release_of(one: Found) -> str:
    """The chart's release; empty for anything else."""
    found = template_labels(one[1])
    return found.get(_RELEASE, "") if "model" in found else ""


def _traps(one: Found, engine: Process) -> Iterator[str]:
    """What the chart sets without effect. Source: deployment-vllm-multi.yaml, LMCache's config.py."""
    settings = Settings(engine)
    if settings.get("max_local_disk_size") is not None and settings.get("local_disk") is None:
        yield f"{one[0]}: LMCACHE_MAX_LOCAL_DISK_SIZE is set without LMCACHE_LOCAL_DISK, so no disk is used."


PRODUCTION_STACK_HELM = ProductionStackHelm()
