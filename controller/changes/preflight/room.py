"""The room on nodes: what can be allocated, less what the pods there ask for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from controller.changes.preflight.ahead import Ahead, Restart
from controller.changes.preflight.amounts import MEMORY, ZERO, Amounts, amounts, minus, plus, requests_of
from controller.changes.preflight.placing import takes, trouble_of
from controller.objects import Objects, Raw
from controller.reading.fields import field, items, labels, mapping, named, text
from controller.reading.lineage import template_spec
from controller.reading.quantities import bytes_of
from controller.resources import NODES, PODS

_OVER = ("Succeeded", "Failed")
_TOOLKIT = ("app", "ai-toolkit")
"""HyperPod's tiered storage: a daemon that keeps a share of the node's memory. Source: AWS's blog on tiered caches."""


@dataclass(frozen=True, slots=True)
class Room:
    """One node that takes a workload's pods.

    Attributes:
        allocatable: what its pods may ask for together.
        others: what pods of others ask for.
        own: what the workload's own pods there ask for now.
    """

    node: str
    allocatable: Amounts
    others: Amounts
    own: Amounts

    @property
    def beside_others(self) -> Amounts:
        """Free once the workload's own pods are gone."""
        return minus(self.allocatable, self.others)

    @property
    def now(self) -> Amounts:
        """Free with everything that is there."""
        return minus(self.beside_others, self.own)


def rooms_of(ahead: Ahead, restart: Restart) -> list[Room]:
    """Nodes that are well and take the workload's new pods, in the order of names."""
    objects, spec = ahead.look.objects, template_spec(restart.after)
    asked = _asked(objects, {ref.name for ref, _ in restart.pods}, restart.ref.namespace)
    return [
        Room(ref.name, amounts(mapping(raw, "status", "allocatable")), *asked.get(ref.name, ({}, {})))
        for ref, raw in named(objects, NODES)
        if not trouble_of(raw) and takes(raw, spec)
    ]


def _asked(objects: Objects, own: set[str], namespace: str) -> Mapping[str, tuple[Amounts, Amounts]]:
    """By node: what pods of others ask for, and the workload's own."""
    found: dict[str, tuple[Amounts, Amounts]] = defaultdict(lambda: ({}, {}))
    for ref, raw in named(objects, PODS):
        node = text(raw, "spec", "nodeName")
        if not node or text(raw, "status", "phase") in _OVER:
            continue
        others, mine = found[node]
        if ref.namespace == namespace and ref.name in own:
            found[node] = others, plus(mine, _requests(raw))
        else:
            found[node] = plus(others, _requests(raw)), mine
    return found


def _requests(raw: Raw) -> Amounts:
    asked = requests_of(mapping(raw, "spec"))
    if not is_toolkit(raw):
        return asked
    return {**asked, MEMORY: max(asked.get(MEMORY, ZERO), Decimal(toolkit_bytes(raw) or 0))}


def is_toolkit(pod: Raw) -> bool:
    return labels(pod, "metadata", "labels").get(_TOOLKIT[0]) == _TOOLKIT[1]


def toolkit_bytes(pod: Raw) -> int | None:
    """What ai-toolkit's daemon may take of its node, by its limits, else by its requests; None: it states neither."""
    for side in ("limits", "requests"):
        found = [bytes_of(field(one, "resources", side, MEMORY)) for one in items(pod, "spec", "containers")]
        known = [one for one in found if one is not None]
        if known:
            return sum(known)
    return None


def fits(free: Amounts, asked: Amounts) -> int:
    """How many pods go into what is free."""
    counts = [int(free.get(name, ZERO) // number) for name, number in asked.items() if number > 0]
    return max(0, min(counts, default=0))


def best_for(rooms: Iterable[tuple[str, Amounts]], asked: Amounts, resource: str) -> tuple[str, Amounts]:
    """The node with the most of a resource, among those that lack nothing else where there are such."""
    rest = {name: number for name, number in asked.items() if name != resource}
    return max(rooms, key=lambda one: (fits(one[1], rest) > 0, one[1].get(resource, ZERO)))
