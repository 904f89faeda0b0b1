"""How pods end: disruption budgets beside the rollout, and whether streams come to their end.

Source: Kubernetes, "Disruptions" (a rolling update is not bound by a PodDisruptionBudget, a drain is) and "Pod
Lifecycle" (what still runs after terminationGracePeriodSeconds, 30 by default, is killed).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart, namespaces_of
from controller.changes.preflight.check import Check, Finding
from controller.reading.fields import mapping, text, whole
from controller.reading.lineage import selects, template_labels, template_spec
from tierdeck.deployed import Component

_DEFAULT_SECONDS = 30


def find_budgets(ahead: Ahead) -> Iterator[Finding]:
    """Budgets that allow no disruption of pods that restart; they refuse nothing."""
    for namespace, restarts in namespaces_of(ahead.restarts):
        path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
        budgets = ahead.listed(path, f"Whether a PodDisruptionBudget of {namespace} allows no disruption")
        if isinstance(budgets, str):
            yield budgets
            continue
        for one in restarts.values():
            for budget in budgets:
                is_its = selects(mapping(budget, "spec", "selector"), template_labels(one.after))
                if is_its and whole(budget, "status", "disruptionsAllowed") == 0:
                    name = f"PodDisruptionBudget {namespace}/{text(budget, 'metadata', 'name')}"
                    yield (
                        f"{name} allows no disruption of {one.ref} now: that does not hold up the rollout, "
                        "but while it goes on no node of its pods can be drained."
                    )


def find_grace(ahead: Ahead) -> Iterator[Finding]:
    """Streams that are longer than a pod gets to end."""
    for one in ahead.restarts:
        if one.component in (Component.ENGINE, Component.ROUTER):
            yield from _grace(one, ahead.look.load.request_seconds)


def _grace(one: Restart, longest: float | None) -> Iterator[Finding]:
    stated = whole(template_spec(one.after), "terminationGracePeriodSeconds")
    seconds = _DEFAULT_SECONDS if stated is None else stated
    bound = f"terminationGracePeriodSeconds of {one.ref} is {seconds}{'' if stated is not None else ', the default'}"
    if longest is None:
        if seconds <= _DEFAULT_SECONDS:
            yield f"Answers that take longer than {seconds} s are cut when a pod stops: {bound}."
    elif longest > seconds:
        yield (f"Answers that take longer than {seconds} s are cut when a pod stops: {bound}, and the slowest take "
               f"{longest:.0f} s.")  # fmt: skip


BUDGETS = Check("disruption budgets", (), find_budgets)
GRACE = Check("grace period", (), find_grace)
