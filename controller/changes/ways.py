"""The ways to change deployments that this process has: of the cluster that it watches, and of a lab."""

from __future__ import annotations

import time
from collections.abc import Callable

from controller.api.client import Api
from controller.changes.changers import Changers
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.parts import Parts
from controller.changes.lab import LabChanger
from controller.changes.load import load_of
from controller.changes.planner import Load
from controller.changes.planners import PLANNERS
from controller.changes.preflight import preflight
from controller.changes.quotas import Quotas
from controller.objects import Objects
from controller.probe.prober import probe
from controller.probe.route import route_of
from db import Store
from tierdeck.changes.plan import Surface
from tierdeck.changes.proof import Proof
from tierdeck.errors import UsageError
from tierdeck.settings import Settings


def ways(settings: Settings, store: Store, api: Api | None, objects: Callable[[], Objects]) -> Changers:
    """
    Args:
        api: None: no cluster is watched.
        objects: the cluster as it is watched; raises ApiUnreachableError where it has not been seen whole yet.
    """
    seen = _Seen(settings, store)
    parts = Parts(
        objects,
        PLANNERS,
        preflight,
        seen.probe,
        load=seen.load,
        impersonates=settings.changes_impersonate,
        by_hand=settings.managers_by_hand,
        elsewhere={Surface.LMCACHE_QUOTA: Quotas()},
    )
    rolling = settings.changes_rollout_seconds
    cluster = KubernetesChanger(api, parts, rolling_seconds=rolling) if api is not None else None
    return Changers(cluster, LabChanger(settings.lab_url) if settings.lab_url else None)


class _Seen:
    """What the store knows of endpoints."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store

    def load(self, endpoint: str) -> Load:
        stale = self._settings.stale_after_seconds
        return load_of(self._store, self._settings.cluster, endpoint, time.time(), stale)

    def probe(self, endpoint: str, wished: str) -> Proof:
        """
        Raises:
            UsageError: it is not scraped, or nothing tells where its router is.
            UnreachableError: its router does not answer.
        """
        found = next((one for one in self._store.endpoints(self._settings.cluster) if one.name == endpoint), None)
        if found is None:
            raise UsageError(f"{endpoint} has no targets yet, so nothing tells where its router is", "Probe it later.")
        return probe(route_of(found), wished)
