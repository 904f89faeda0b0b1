"""Which nodes a pod may go to, as the scheduler would see it: never too few of them.

Source: Kubernetes API, core/v1 PodSpec (nodeName, nodeSelector, required nodeAffinity, tolerations) and NodeSpec. What
is free on a node is not looked at: only whether it could ever hold the pod's GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.objects import Objects, Raw
from controller.reading.fields import field, flag, items, labels, mapping, named, text, words
from controller.reading.lineage import Found
from controller.reading.quantities import amount
from controller.resources import NODES

_FORBID = ("NoSchedule", "NoExecute")
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
"""What `unschedulable` is to the scheduler: who tolerates this taint goes there all the same.

Source: Kubernetes, pkg/scheduler/framework/plugins/nodeunschedulable.
"""


def nodes_for(objects: Objects, spec: Raw) -> list[Found]:
    """In the order of names; the node that it is bound to, whatever is wrong with that."""
    bound = text(spec, "nodeName")
    if bound:
        return [one for one in named(objects, NODES) if one[0].name == bound]
    return [one for one in named(objects, NODES) if _may_go(spec, one[1])]


def _may_go(spec: Raw, node: Raw) -> bool:
    own = labels(node, "metadata", "labels")
    if field(node, "metadata", "deletionTimestamp"):
        return False
    if any(own.get(key) != value for key, value in labels(spec, "nodeSelector").items()):
        return False
    required = field(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not any(_fits(term, node) for term in items(required, "nodeSelectorTerms")):
        return False
    cordoned = [_CORDONED] if flag(node, "spec", "unschedulable") else []
    if any(not _tolerates(spec, taint) for taint in (*items(node, "spec", "taints"), *cordoned)):
        return False
    allocatable = mapping(node, "status", "allocatable")
    return all((amount(allocatable.get(name)) or 0.0) >= wanted for name, wanted in _devices(spec))


def _devices(spec: Raw) -> Iterator[tuple[str, float]]:
    """Extended resources, such as GPUs: a node without them never gets the pod."""
    for container in items(spec, "containers"):
        for name, written in mapping(container, "resources", "limits").items():
            wanted = amount(written)
            if "/" in name and wanted:
                yield name, wanted


def _fits(term: Raw, node: Raw) -> bool:
    expressions, fields = items(term, "matchExpressions"), items(term, "matchFields")
    own, name = labels(node, "metadata", "labels"), {"metadata.name": text(node, "metadata", "name")}
    return bool(expressions or fields) and all(
        _meets(rule, found) for rules, found in ((expressions, own), (fields, name)) for rule in rules
    )


def _meets(rule: Raw, found: dict[str, str]) -> bool:
    value, listed = found.get(text(rule, "key")), words(rule, "values")
    match text(rule, "operator"):
        case "In":
            return value in listed
        case "NotIn":
            return value not in listed
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            number, bound = amount(value), amount(listed[0]) if listed else None
            return number is not None and bound is not None and (number > bound if operator == "Gt" else number < bound)
    return True  # an operator that is not known rules nothing out


def _tolerates(spec: Raw, taint: Raw) -> bool:
    if text(taint, "effect") not in _FORBID:
        return True
    for one in items(spec, "tolerations"):
        if text(one, "effect") not in ("", text(taint, "effect")):
            continue
        if text(one, "key") not in ("", text(taint, "key")):
            continue
        if text(one, "operator") == "Exists" or (text(one, "key") and text(one, "value") == text(taint, "value")):
            return True
    return False
