"""Which pods and revisions belong to which workload, by owner references."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from controller.objects import Objects, Raw
from controller.reading.fields import field, items, labels, mapping, named, text, words
from controller.resources import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
)
from tierdeck.deployed import ObjectRef

Found = tuple[ObjectRef, Raw]
WORKLOADS: tuple[Resource, ...] = (DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS)
_Owner = tuple[str, str, str]


class Lineage:
    """An index of one moment's objects."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._pods = _by_owner(objects, PODS)
        self._sets = _by_owner(objects, REPLICA_SETS)
        self._revisions = _by_owner(objects, CONTROLLER_REVISIONS)

    def workloads(self, *kinds: Resource) -> list[Found]:
        """Every workload; of these kinds only, where some are named."""
        return [one for kind in kinds or WORKLOADS for one in named(self._objects, kind)]

    def get(self, kind: Resource, namespace: str, name: str) -> list[Found]:
        """The object, as a list of at most one."""
        raw = self._objects.get(kind, namespace, name)
        return [(ObjectRef(kind.kind, namespace, name), raw)] if isinstance(raw, Mapping) else []

    def revisions(self, workload: Found) -> list[Found]:
        """ReplicaSets of a Deployment, ControllerRevisions of the others."""
        return self._of(self._sets if workload[0].kind == "Deployment" else self._revisions, workload)

    def pods(self, workload: Found) -> list[Found]:
        """Pods of a workload; where ReplicaSets can't be seen, by their names and the Deployment's selector."""
        ref, raw = workload
        if ref.kind != "Deployment":
            return self._of(self._pods, workload)
        found = [pod for one in self.revisions(workload) for pod in self._of(self._pods, one)]
        if self._objects.sees(REPLICA_SETS):
            return found
        known = {pod for pod, _ in found}
        wanted = mapping(raw, "spec", "selector")
        return found + [
            (pod, own)
            for (namespace, kind, owner), pods in self._pods.items()
            if (namespace, kind) == (ref.namespace, "ReplicaSet") and owner.rpartition("-")[0] == ref.name
            for pod, own in pods
            if pod not in known and selects(wanted, labels(own, "metadata", "labels"))
        ]

    @staticmethod
    def _of(kept: Mapping[_Owner, list[Found]], owner: Found) -> list[Found]:
        ref, uid = owner[0], text(owner[1], "metadata", "uid")
        found = kept.get((ref.namespace, ref.kind, ref.name), [])
        return [one for one in found if not uid or _owner_uid(one[1], ref) in ("", uid)]


def _by_owner(objects: Objects, resource: Resource) -> dict[_Owner, list[Found]]:
    found: dict[_Owner, list[Found]] = defaultdict(list)
    for ref, raw in named(objects, resource):
        for owner in items(raw, "metadata", "ownerReferences"):
            found[ref.namespace, text(owner, "kind"), text(owner, "name")].append((ref, raw))
    return found


def _owner_uid(raw: Raw, ref: ObjectRef) -> str:
    """The uid by which an object names that owner; a namesake that was deleted has another one."""
    for owner in items(raw, "metadata", "ownerReferences"):
        if (text(owner, "kind"), text(owner, "name")) == (ref.kind, ref.name):
            return text(owner, "uid")
    return ""


def selects(selector: Raw, found: Mapping[str, str]) -> bool:
    """A label selector fits; one without any requirement fits nothing here.

    Source: Kubernetes API, meta/v1 LabelSelector.
    """
    matches, rules = labels(selector, "matchLabels"), items(selector, "matchExpressions")
    if not matches and not rules:
        return False
    return all(found.get(key) == value for key, value in matches.items()) and all(_fits(rule, found) for rule in rules)


def _fits(rule: Raw, found: Mapping[str, str]) -> bool:
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
    return False


def parse_selector(written: str) -> Raw:
    """A selector as commands take it: `app=chat,tier in (a,b)`; what can't be read fits nothing."""
    matches: dict[str, str] = {}
    rules: list[dict[str, object]] = []
    rest = written.strip()
    while rest:
        head, _, tail = rest.partition(",")
        if " in (" in head and ")" in rest:
            inside, _, tail = rest.partition(")")
            key, _, values = inside.partition(" in (")
            rules.append({"key": key.strip(), "operator": "In", "values": [one.strip() for one in values.split(",")]})
            tail = tail.lstrip(" ,")
        elif "!=" in head:
            key, _, value = head.partition("!=")
            rules.append({"key": key.strip(), "operator": "NotIn", "values": [value.strip()]})
        elif "=" in head:
            key, _, value = head.replace("==", "=").partition("=")
            matches[key.strip()] = value.strip()
        else:
            rules.append({"key": head.strip(), "operator": "Exists"})
        rest = tail.strip()
    return {"matchLabels": matches, "matchExpressions": rules}


def template_labels(workload: Raw) -> dict[str, str]:
    return labels(workload, "spec", "template", "metadata", "labels")


def template_spec(workload: Raw) -> Raw:
    return mapping(field(workload, "spec", "template", "spec"))
