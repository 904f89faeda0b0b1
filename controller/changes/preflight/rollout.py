"""How a workload replaces its pods: how many it starts beforehand, and how many may be missing meanwhile.

Source: Kubernetes, apps/v1 (maxSurge is rounded up and maxUnavailable down, 25 % each where nothing is stated; where
both come to 0, one may be missing) and pkg/controller/deployment/util (ResolveFenceposts).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from controller.objects import Raw
from controller.reading.fields import field, mapping, text, whole

_PER_CENT = re.compile(r"(\d{1,3})%")


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a workload states about it.

    Attributes:
        replicas: None: not told.
        surge: pods above `replicas` that it may start before it stops others.
        unavailable: pods below `replicas` that may be missing.
        where: the fields that say so.
        is_by_hand: pods change only when somebody deletes them.
    """

    replicas: int | None
    surge: int
    unavailable: int
    where: str
    is_by_hand: bool = False

    @property
    def remaining(self) -> int | None:
        """Replicas that serve all the while; None: not told."""
        return None if self.replicas is None else max(0, self.replicas - self.unavailable)

    @property
    def needs_surge(self) -> bool:
        """Nothing goes on until a pod more has started."""
        return self.unavailable == 0 and self.surge > 0 and self.replicas != 0


def rollout_of(kind: str, raw: Raw) -> Rollout:
    """Of a Deployment, StatefulSet or DaemonSet."""
    if kind == "DaemonSet":
        return _of_set(raw, whole(raw, "status", "desiredNumberScheduled"))
    replicas = whole(raw, "spec", "replicas")
    if kind == "StatefulSet":
        return _of_set(raw, replicas)
    if text(raw, "spec", "strategy", "type") == "Recreate":
        return Rollout(replicas, 0, replicas or 0, "strategy Recreate")
    stated = mapping(raw, "spec", "strategy", "rollingUpdate")
    surge, unavailable = field(stated, "maxSurge"), field(stated, "maxUnavailable")
    more = _count("25%" if surge is None else surge, replicas, up=True)
    missing = _count("25%" if unavailable is None else unavailable, replicas, up=False)
    if more == missing == 0:
        missing = 1
    return Rollout(replicas, more, missing, f"maxSurge {more}, maxUnavailable {missing}")


def _of_set(raw: Raw, replicas: int | None) -> Rollout:
    if text(raw, "spec", "updateStrategy", "type") == "OnDelete":
        return Rollout(replicas, 0, 0, "updateStrategy OnDelete", is_by_hand=True)
    stated = mapping(raw, "spec", "updateStrategy", "rollingUpdate")
    more = _count(field(stated, "maxSurge") or 0, replicas, up=True)
    given = field(stated, "maxUnavailable")
    missing = _count(1 if given is None else given, replicas, up=True)
    if more == missing == 0:
        missing = 1
    return Rollout(replicas, more, missing, f"maxSurge {more}, maxUnavailable {missing}")


def _count(value: object, replicas: int | None, *, up: bool) -> int:
    """A number, or a share of the replicas."""
    if isinstance(value, int) and not isinstance(value, bool):
        return max(0, value)
    share = _PER_CENT.fullmatch(value) if isinstance(value, str) else None
    if share is None or replicas is None:
        return 1 if up else 0
    exact = int(share[1]) * replicas / 100
    return math.ceil(exact) if up else math.floor(exact)
