"""Whether something moves already: a rollout, a scaling, a node that is being repaired; and who owns the replicas.

Source: Kubernetes, autoscaling/v2 (currentReplicas, desiredReplicas); for nodes see `placing`.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.placing import trouble_of
from controller.objects import Raw
from controller.reading.fields import items, mapping, named, text, whole
from controller.resources import AUTOSCALERS, NODES
from tierdeck.changes.plan import Refusal
from tierdeck.deployed import ObjectRef

_SCALERS = ("hpa", "keda")
_PRESSURES = ("DiskPressure", "MemoryPressure", "PIDPressure")


def find_moving(ahead: Ahead) -> Iterator[Finding]:
    """Rollouts, scalings and repairs of what restarts; a rollout that is stuck may be what the change cures."""
    for one in ahead.restarts:
        yield from _rolling(one)
        yield from _scaling(ahead, one)
        yield from _repair(ahead, one)


def _rolling(one: Restart) -> Iterator[Finding]:
    workload = one.workload
    if not workload.is_rolling:
        return
    wanted = "?" if workload.wanted is None else workload.wanted
    if workload.trouble:
        ready = f"{workload.ready} of {wanted} ready"
        yield f"The last rollout of {one.ref} does not go on, with {ready}: {workload.trouble}"
        return
    yield Refusal(
        "scaling",
        f"{one.ref} is rolling out or scaling already: {workload.ready} of {wanted} pods are ready.",
        "Wait until it is done, and propose the change again.",
    )


def _scaling(ahead: Ahead, one: Restart) -> Iterator[Refusal]:
    targets = {one.ref, ahead.look.deployed.source}
    for scaler, raw in named(ahead.look.objects, AUTOSCALERS):
        aim = mapping(raw, "spec", "scaleTargetRef")
        target = ObjectRef(text(aim, "kind"), scaler.namespace, text(aim, "name"))
        now, then = (whole(raw, "status", name) for name in ("currentReplicas", "desiredReplicas"))
        if target in targets and now is not None and then and now != then and not _is_idle(raw):
            yield Refusal(
                "scaling",
                f"{scaler} scales {target} from {now} to {then} replicas now.",
                "Wait until it is done, and propose the change again.",
            )


def _is_idle(scaler: Raw) -> bool:
    """It does not scale, for want of metrics or since it is switched off: what it desires is of another time."""
    active = next((one for one in items(scaler, "status", "conditions") if text(one, "type") == "ScalingActive"), {})
    return text(active, "status") == "False"


def _repair(ahead: Ahead, one: Restart) -> Iterator[Finding]:
    objects = ahead.look.objects
    if not one.pods:
        return
    if not objects.sees(NODES):
        yield f"Whether a node of {one.ref} is being repaired is not checked: {objects.blind[NODES]}."
        return
    used = sorted({text(raw, "spec", "nodeName") for _, raw in one.pods} - {""})
    known = bool(list(objects.all(NODES)))
    for name in used if known else ():
        node = objects.get(NODES, "", name)
        trouble = "is gone" if node is None else trouble_of(node)
        if trouble:
            yield Refusal(
                "node_repair",
                f"Node {name}, on which pods of {one.ref} run, {trouble}.",
                "Wait until the node is repaired or replaced and the pods are ready, and propose the change again.",
            )


def find_pressure(ahead: Ahead) -> Iterator[Finding]:
    """Nodes under these pods from which the kubelet evicts: what restarts there may not stay."""
    for one in ahead.restarts:
        for name in sorted({text(raw, "spec", "nodeName") for _, raw in one.pods} - {""}):
            node = ahead.look.objects.get(NODES, "", name) or {}
            for it in items(node, "status", "conditions"):
                if text(it, "type") in _PRESSURES and text(it, "status") == "True":
                    yield (f"Node {name}, on which pods of {one.ref} run, reports {text(it, 'type')}: the kubelet "
                           "evicts pods there, and no new one is placed on it.")  # fmt: skip


def find_scalers(ahead: Ahead) -> Iterator[Finding]:
    """Replicas that are written where an autoscaler sets them."""
    owners = [one for one in ahead.look.deployed.owners if one.tool in _SCALERS]
    for write in ahead.plan.writes:
        if owners and any(edit.path and edit.path[-1] == "replicas" for edit in write.edits):
            names = ", ".join(sorted(f"{one.tool} {one.name}".strip() for one in owners))
            yield f"{write.ref}: an autoscaler sets its replicas ({names}) and will write over what is written here."


MOVING = Check("scaling and repair", ("scaling", "node_repair"), find_moving)
PRESSURE = Check("node pressure", (), find_pressure)
SCALERS = Check("autoscalers", (), find_scalers)
