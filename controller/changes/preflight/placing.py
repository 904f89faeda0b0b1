"""Which nodes a pod may be placed on: its selector and affinity, the node's taints and health.

Sources: Kubernetes, "Assigning Pods to Nodes" and "Taints and Tolerations"; AWS documentation, "Resilience-related
Kubernetes labels by SageMaker HyperPod". Rules between pods (anti-affinity, topology spread) are not read.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.objects import Raw
from controller.reading.fields import flag, items, labels, mapping, text
from controller.reading.lineage import selects

_HEALTH = "sagemaker.amazonaws.com/node-health-status"
_KEEPS_AWAY = ("NoSchedule", "NoExecute")


def trouble_of(node: Raw) -> str:
    """Why a node takes no new pod, or is about to go; empty: it is well."""
    if text(node, "metadata", "deletionTimestamp"):
        return "is being deleted"
    health = labels(node, "metadata", "labels").get(_HEALTH, "")
    if health.startswith("UnschedulablePending"):
        return f"waits for its {health.removeprefix('UnschedulablePending').lower()} ({_HEALTH} {health})"
    if health == "Unschedulable":
        return f"is being checked ({_HEALTH} {health})"
    ready = next((one for one in items(node, "status", "conditions") if text(one, "type") == "Ready"), None)
    if ready is not None and text(ready, "status") != "True":
        return "is not ready"
    return "is cordoned or being drained" if flag(node, "spec", "unschedulable") else ""


def takes(node: Raw, pod: Raw) -> bool:
    """A pod of this spec may be placed on the node, as far as selector, affinity and taints tell."""
    own = labels(node, "metadata", "labels")
    wanted = labels(pod, "nodeSelector")
    if any(own.get(key) != value for key, value in wanted.items()) or not _affine(pod, own, node):
        return False
    taints = [one for one in items(node, "spec", "taints") if text(one, "effect") in _KEEPS_AWAY]
    return all(any(_tolerates(one, taint) for one in items(pod, "tolerations")) for taint in taints)


def _affine(pod: Raw, own: Mapping[str, str], node: Raw) -> bool:
    required = mapping(pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = items(required, "nodeSelectorTerms")
    named = {"metadata.name": text(node, "metadata", "name")}
    return not terms or any(
        _term(term, "matchExpressions", own) and _term(term, "matchFields", named) for term in terms
    )


def _term(term: Raw, part: str, found: Mapping[str, str]) -> bool:
    rules = items(term, part)
    return not rules or all(_fits(rule, found) for rule in rules)


def _fits(rule: Raw, found: Mapping[str, str]) -> bool:
    kind, value = text(rule, "operator"), found.get(text(rule, "key"), "")
    if kind in ("Gt", "Lt"):
        limit = next((one for one in rule.get("values") or () if isinstance(one, str)), "")
        if not (limit.isdecimal() and value.isdecimal()):
            return False
        return int(value) > int(limit) if kind == "Gt" else int(value) < int(limit)
    return selects({"matchExpressions": [rule]}, found)


def _tolerates(toleration: Raw, taint: Raw) -> bool:
    key, effect = text(toleration, "key"), text(toleration, "effect")
    if effect and effect != text(taint, "effect"):
        return False
    if text(toleration, "operator") == "Exists":
        return key in ("", text(taint, "key"))
    return key == text(taint, "key") and text(toleration, "value") == text(taint, "value")
