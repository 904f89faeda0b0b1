"""Whether the nodes have room: for all pods as they will be, and for the pod more that a rollout begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.amounts import MEMORY, ZERO, Amounts, is_device, requests_of
from controller.changes.preflight.check import Check, Finding
from controller.changes.preflight.room import Room, best_for, fits, is_toolkit, rooms_of, toolkit_bytes
from controller.changes.preflight.saying import plural, size, told
from controller.reading.fields import items, named, text
from controller.reading.lineage import template_spec
from controller.resources import NODES, PODS
from tierdeck.changes.plan import Refusal


def find_room(ahead: Ahead) -> Iterator[Finding]:
    """All pods in the end, and one more at the beginning; what could not fit before is not the change's fault."""
    objects = ahead.look.objects
    blind = [kind for kind in (NODES, PODS) if not objects.sees(kind)]
    if not ahead.restarts:
        return
    if blind or not list(objects.all(NODES)):
        reason = "; ".join(objects.blind[kind] for kind in blind) or "no node is seen"
        yield f"Whether a node has room is not checked: {reason}."
        return
    if objects.spaces:
        spaces = ", ".join(objects.spaces)
        yield f"Nodes may have less room than is counted here: pods outside of the namespaces {spaces} are not seen."
    for restart in ahead.restarts:
        rooms = rooms_of(ahead, restart)
        if not rooms:
            yield (
                f"Whether a node has room for {restart.ref} is not checked: no node that is well has the labels that "
                "its pods ask for and no taint that they don't tolerate."
            )
            continue
        yield from _toolkit(ahead, rooms)
        too_big = _in_the_end(restart, rooms)
        yield from [too_big] if too_big else _at_first(restart, rooms)


def _toolkit(ahead: Ahead, rooms: Sequence[Room]) -> Iterator[str]:
    nodes = {room.node for room in rooms}
    for ref, raw in named(ahead.look.objects, PODS):
        if is_toolkit(raw) and text(raw, "spec", "nodeName") in nodes and toolkit_bytes(raw) is None:
            yield (
                f"How much memory HyperPod's ai-toolkit keeps of a node is not counted: {ref} states none "
                "(InstanceMemoryAllocationPercentage of the cluster, often 20 % of it)."
            )
            return


def _in_the_end(restart: Restart, rooms: Sequence[Room]) -> Refusal | None:
    """Where the pods grow in memory: whether all of them fit."""
    before, after = _asked(restart)
    wanted = restart.rollout.replicas if restart.rollout.replicas is not None else len(restart.pods)
    if after.get(MEMORY, ZERO) <= before.get(MEMORY, ZERO) or wanted == 0:
        return None
    is_daemon = restart.ref.kind == "DaemonSet"
    free = [(room.node, room.beside_others) for room in rooms if room.own or not is_daemon]
    most = 1 if is_daemon else wanted
    counts = {node: min(most, fits(left, after)) for node, left in free}
    have = sum(counts.values())
    if have >= min(wanted, sum(min(most, fits(left, before)) for _, left in free)):
        return None
    open_ = [(node, left) for node, left in free if counts[node] < most]
    rest = [(node, {**left, **_less(left, after, counts[node])}) for node, left in open_]
    node, left = best_for(rest, after, MEMORY)
    missing = after[MEMORY] - left.get(MEMORY, ZERO)
    room = f"for {have or 'none'} of its {plural(wanted, 'pod')}"
    beside = "beside the pods of others" if have == 0 else "beside these and the pods of others"
    return Refusal(
        "memory",
        f"{restart.ref} will ask for {size(after[MEMORY])} of memory in each pod, and nodes have room {room}: "
        f"the best, {node}, has {size(max(left.get(MEMORY, ZERO), ZERO))} left {beside}, {told(missing)} are missing.",
        f"Make L1 smaller by at least {told(missing)} per replica, or add a node.",
    )


def _less(left: Amounts, asked: Amounts, count: int) -> Amounts:
    return {name: left.get(name, ZERO) - count * number for name, number in asked.items()}


def _at_first(restart: Restart, rooms: Sequence[Room]) -> Iterator[Refusal]:
    """Where nothing goes on until a pod more has started: whether one node has room for it."""
    rollout, (before, after) = restart.rollout, _asked(restart)
    if not rollout.needs_surge or any(fits(room.now, after) for room in rooms):
        return
    free = [(room.node, room.now) for room in rooms]
    devices = sorted(name for name, number in after.items() if is_device(name) and number > 0)
    short = [name for name in devices if all(left.get(name, ZERO) < after[name] for _, left in free)]
    if short:
        name = short[0]
        node, left = best_for(free, after, name)
        yield Refusal("gpus", _says(restart, f"{_number(after[name])} {name}", f"{node}, has "
                      f"{_number(max(left.get(name, ZERO), ZERO))} free"), _fix(restart))  # fmt: skip
        return
    node, left = best_for(free, after, MEMORY)
    missing = after.get(MEMORY, ZERO) - left.get(MEMORY, ZERO)
    if missing <= 0:
        yield Refusal("surge", _says(restart, "it", f"{node}, lacks {', '.join(_lacks(left, after))}"), _fix(restart))
        return
    grows = after.get(MEMORY, ZERO) > before.get(MEMORY, ZERO) and any(fits(one, before) for _, one in free)
    has = f"{node}, has {size(max(left.get(MEMORY, ZERO), ZERO))} left, {told(missing)} are missing"
    yield Refusal(
        "memory" if grows else "surge", _says(restart, f"{size(after[MEMORY])} of memory", has), _fix(restart)
    )


def _says(restart: Restart, what: str, has: str) -> str:
    return (f"{restart.ref} starts a pod more before it stops one ({restart.rollout.where}), and no node has room for "
            f"{what}: the best, {has}.")  # fmt: skip


def _fix(restart: Restart) -> str:
    owner = next(iter(items(restart.after, "metadata", "ownerReferences")), None)
    if owner is not None:
        made = f"{text(owner, 'kind')} {text(owner, 'name')}"
        return f"Make room on a node, or take a replica away first: {made} sets the strategy of {restart.ref}."
    return (
        f"Set maxSurge 0 and maxUnavailable 1 in the strategy of {restart.ref}, so that a pod goes before the next one "
        "comes, or make room on a node."
    )


def _lacks(left: Amounts, asked: Amounts) -> list[str]:
    return sorted(f"{_number(number - left.get(name, ZERO))} {name}" for name, number in asked.items()
                  if left.get(name, ZERO) < number)  # fmt: skip


def _number(amount: Decimal) -> str:
    return f"{float(amount):g}"


def _asked(restart: Restart) -> tuple[Amounts, Amounts]:
    """Of one pod, before and after."""
    return requests_of(template_spec(restart.before)), requests_of(template_spec(restart.after))


ROOM = Check("room", ("memory", "gpus", "surge"), find_room)
