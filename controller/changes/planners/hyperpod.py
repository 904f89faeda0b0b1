"""Changes of InferenceEndpointConfigs: strategy, L0 and L1 by one write each; L2 has no size there.

Sources: sagemaker-hyperpod-cli, CRD v1; CurvineIO/curvine (capacity is the sum of the workers' data directories).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.backends.hyperpod_stated import read_statement
from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.planners.hyperpod_l0 import l0_carried, l0_edits
from controller.changes.planners.hyperpod_l1 import L1Now, dropped, l1_carried, l1_edits, l1_warnings, read_l1
from controller.changes.planners.hyperpod_operator import operator_of, paused
from controller.changes.planners.hyperpod_rendering import LOST, back_warnings, rendering_refusals, rendering_warnings
from controller.changes.planners.hyperpod_resource import HyperPodResource, read_resource
from controller.changes.planners.hyperpod_routing import plan_strategy
from tierdeck.changes.plan import Carried, FieldEdit, Plan, Refusal
from tierdeck.changes.wish import Wish

_ENV = ("spec", "worker", "environmentVariables")


class HyperPodPlanner:
    """One write to the custom resource; the operator does the rest."""

    names = ("hyperpod",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        """See `Planner`."""
        found = read_resource(look)
        if isinstance(found, Refusal):
            return (found,)
        return plan_strategy(found, wish.strategy) if wish.strategy else _resize(found, wish)


def _resize(found: HyperPodResource, wish: Wish) -> Plan | tuple[Refusal, ...]:
    refusals = [no_l2_size(found)] if wish.l2_bytes is not None else []
    edits: tuple[FieldEdit, ...] = ()
    carried: list[Carried] = []
    warnings: list[str] = []
    try:
        if wish.l0 is not None:
            edits += l0_edits(found, wish.l0)
            carried += l0_carried(found, wish.l0)
        if wish.l1_bytes is not None:
            now = _read_l1(found)
            edits += l1_edits(found, now, wish.l1_bytes, _ENV)
            carried += l1_carried(found, now, wish.l1_bytes)
            warnings += l1_warnings(found, now, wish.l1_bytes)
            refusals += list(dropping(found))
    except NotEditableError as error:
        refusals.append(Refusal("not_possible", f"{found.ref}: {error}.", error.hint))
    return plan_of(found, edits, carried, warnings, refusals, wish.text)


def plan_of(
    found: HyperPodResource,
    edits: tuple[FieldEdit, ...],
    carried: list[Carried],
    warnings: list[str],
    refusals: list[Refusal],
    wished: str,
) -> Plan | tuple[Refusal, ...]:
    """One write with all of it, or each reason against it."""
    if not refusals and not edits:
        return (Refusal("nothing_to_do", f"{found.ref} states {wished} already."),)
    refusals += list(rendering_refusals(found))
    if refused := paused(found):
        refusals.append(refused)
    if refusals:
        return tuple(refusals)
    said = (*rendering_warnings(found), *warnings)
    return Plan((found.write(*edits),), tuple(carried), found.workloads, LOST, "", said, "", back_warnings(found))


def _read_l1(found: HyperPodResource) -> L1Now:
    source = found.ref, found.raw
    return read_l1(found, read_statement(found.look.scene, source, found.engines, found.given).workers)


def dropping(found: HyperPodResource) -> Iterator[Refusal]:
    """An operator that leaves LMCache's variables out now would leave this one out too, after a restart for nothing."""
    names = dropped(found)
    if names:
        operator = operator_of(found.look.scene)
        version = f" {operator.version}" if operator is not None and operator.version else ""
        yield Refusal(
            "silent_no_op",
            f"The operator{version} leaves {', '.join(names)} out of what it renders from {found.ref} "
            "(sagemaker-hyperpod-cli#431), so it would leave the size out too.",
            "Upgrade the operator to a version that passes LMCACHE_* on.",
        )


def no_l2_size(found: HyperPodResource) -> Refusal:
    """Why not, in general and here."""
    return Refusal(
        "not_possible",
        f"{found.ref} has no field for the size of L2: it is the sum of the data directories of Curvine's workers, or "
        "what the node's tiered storage was given; a claim's size limits nothing.",
        "Change the size of the pool itself: it is listed beside the endpoints.",
    )


HYPERPOD = HyperPodPlanner()
