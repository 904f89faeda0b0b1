"""The ways to change deployments that this process has: of the cluster that it watches, and of a lab."""

from __future__ import annotations

import time
from collections.abc import Callable

from controller.api.client import Api
from controller.changes.changers import Changers
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.named import named
from controller.changes.kube.parts import Parts
from controller.changes.lab import LabChanger
from controller.changes.load import load_of
from controller.changes.planner import Load
from controller.changes.planners import PLANNERS
from controller.changes.preflight import preflight
from controller.changes.quotas import Quotas
from controller.objects import Objects
from controller.probe.chats import with_chats
from controller.probe.prober import probe
from controller.probe.route import route_of
from controller.reading.reached import router_of
from controller.reading.scene import Scene
from db import Store
from tierdeck.changes.plan import Surface
from tierdeck.changes.proof import Proof
from tierdeck.errors import UsageError
from tierdeck.fleet import Endpoint
from tierdeck.settings import Settings


def ways(settings: Settings, store: Store, api: Api | None, objects: Callable[[], Objects]) -> Changers:
    """
    Args:
        api: None: no cluster is watched.
        objects: the cluster as it is watched; raises ApiUnreachableError where it has not been seen whole yet.
    """
    seen = _Seen(settings, store, objects)
    parts = Parts(
        objects,
        PLANNERS,
        preflight,
        seen.probe,
        load=seen.load,
        impersonates=settings.changes_impersonate,
        by_hand=settings.managers_by_hand,
        elsewhere={Surface.LMCACHE_QUOTA: Quotas()},
        with_chats=seen.with_chats,
    )
    rolling = settings.changes_rollout_seconds
    cluster = KubernetesChanger(api, parts, rolling_seconds=rolling) if api is not None else None
    return Changers(cluster, LabChanger(settings.lab_url) if settings.lab_url else None)


class _Seen:
    """What the store, and the cluster as it is watched, know of endpoints."""

    def __init__(self, settings: Settings, store: Store, objects: Callable[[], Objects]) -> None:
        self._settings = settings
        self._store = store
        self._objects = objects

    def load(self, endpoint: str) -> Load:
        """What it carries now."""
        settings = self._settings
        return load_of(self._store, settings.cluster, endpoint, time.time(), settings.stale_after_seconds)

    def with_chats(self, endpoint: str, load: Load) -> Load:
        """What it carries, with what its engines tell of chats now."""
        found = self._scraped(endpoint)
        return with_chats(load, found) if found is not None else load

    def probe(self, endpoint: str, wished: str) -> Proof:
        """
        Raises:
            UsageError: it is not scraped, or nothing tells where its router is.
            UnreachableError: its router does not answer, or the cluster has not been seen whole yet.
        """
        found = self._scraped(endpoint)
        if found is None:
            raise UsageError(f"{endpoint} has no targets yet, so nothing tells where its router is", "Probe it later.")
        objects = self._objects()
        deployed = named(objects, endpoint, time.time())
        if deployed is None:
            return probe(route_of(found), wished)
        reached = router_of(Scene(objects), deployed, self._settings.pod_proxy)
        if reached.reason:
            raise UsageError(reached.reason, "`tierdeck probe routing` takes its address with --router URL.")
        return probe(route_of(found, router=reached.url, session_header=reached.session_header), wished)

    def _scraped(self, endpoint: str) -> Endpoint | None:
        return next((one for one in self._store.endpoints(self._settings.cluster) if one.name == endpoint), None)
