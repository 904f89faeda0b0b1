"""The changer of the cluster that the settings name, put together."""

from __future__ import annotations

import time
from collections.abc import Callable

from controller.api.client import Api
from controller.changes.kube.changer import KubernetesChanger
from controller.changes.kube.parts import Checked, Parts
from controller.changes.load import load_of
from controller.changes.planner import Look
from controller.changes.planners import PLANNERS
from controller.objects import Objects
from db import Store
from tierdeck.changes.plan import Plan
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish
from tierdeck.settings import Settings

Preflight = Callable[[Look, Plan, Wish], Checked]
Probe = Callable[[str, str], Proof]


def open_changer(
    settings: Settings, store: Store, api: Api, objects: Callable[[], Objects], checks: tuple[Preflight, Probe]
) -> KubernetesChanger:
    """All planners, as the settings want it.

    Args:
        objects: the cluster as the watches keep it.
        checks: what forbids a plan, and what proves a strategy.
    """
    preflight, probe = checks
    return KubernetesChanger(
        api,
        Parts(
            objects,
            PLANNERS,
            preflight,
            probe,
            load=lambda endpoint: load_of(store, settings.cluster, endpoint, time.time()),
            impersonates=settings.changes_impersonate,
            by_hand=settings.managers_by_hand,
        ),
        rolling_seconds=settings.changes_rollout_seconds,
    )
