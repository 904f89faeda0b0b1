"""Changes of JumpStartModels: strategy, and L1 by a variable where the pods' memory takes it as it is.

Source: sagemaker-hyperpod-cli, CRD v1: JumpStartModel has neither arguments nor resources.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.planners.hyperpod import dropping, no_l2_size, plan_of
from controller.changes.planners.hyperpod_l1 import L1Now, l1_carried, l1_edits, l1_warnings, read_l1
from controller.changes.planners.hyperpod_resource import HyperPodResource, read_resource
from controller.changes.planners.hyperpod_routing import plan_strategy
from controller.reading.fields import field
from controller.reading.quantities import bytes_of
from tierdeck.changes.plan import Carried, FieldEdit, Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.units import format_size

HEADROOM_BYTES = 16 << 30
"""What an engine's processes take beside L1, at the upper end of what is seen (8 to 16 GiB)."""
_ENV = ("spec", "environmentVariables")


class JumpStartPlanner:
    """One write to the custom resource."""

    names = ("hyperpod-jumpstart",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        """See `Planner`."""
        found = read_resource(look)
        if isinstance(found, Refusal):
            return (found,)
        return plan_strategy(found, wish.strategy) if wish.strategy else _resize(found, wish)


def _resize(found: HyperPodResource, wish: Wish) -> Plan | tuple[Refusal, ...]:
    refusals = [no_l2_size(found)] if wish.l2_bytes is not None else []
    if wish.l0 is not None:
        reason = f"{found.ref} has no arguments, so L0 can't be set there."
        refusals.append(Refusal("not_possible", reason, "Deploy the model by an InferenceEndpointConfig."))
    edits: tuple[FieldEdit, ...] = ()
    carried: list[Carried] = []
    warnings: list[str] = []
    if wish.l1_bytes is not None:
        try:
            now = _read_l1(found)
            edits = l1_edits(found, now, wish.l1_bytes, _ENV)
            carried += l1_carried(found, now, wish.l1_bytes)
            warnings += l1_warnings(found, now, wish.l1_bytes)
            refusals += [*dropping(found), *_memory(found, wish.l1_bytes)]
        except NotEditableError as error:
            refusals.append(Refusal("not_possible", f"{found.ref}: {error}.", error.hint))
    return plan_of(found, edits, carried, warnings, refusals, wish.text)


def _read_l1(found: HyperPodResource) -> L1Now:
    """Of the rendered engine: the object states no arguments, and so no ranks."""
    rendered = found.templates()
    if not rendered:
        raise NotEditableError("no Deployment of it is there, so the ranks and the memory of its engine are not known")
    return read_l1(found, rendered[:1])


def _memory(found: HyperPodResource, wanted_bytes: int) -> Iterator[Refusal]:
    """The operator sets the pods' memory by the instance type: L1 has to fit into it as it is."""
    (engine, *_) = found.templates()
    stated = [bytes_of(field(engine.container, "resources", key, "memory")) for key in ("limits", "requests")]
    has = next((one for one in stated if one), None)
    needed = wanted_bytes + HEADROOM_BYTES
    if has is not None and has < needed:
        yield Refusal(
            "not_possible",
            f"{found.ref} has no field for memory, and its pods get {format_size(has)}: L1 of "
            f"{format_size(wanted_bytes)} and {format_size(HEADROOM_BYTES)} for the engine are {format_size(needed)}.",
            "Take a smaller L1, or deploy the model by an InferenceEndpointConfig, which states its resources.",
        )


JUMPSTART = JumpStartPlanner()
