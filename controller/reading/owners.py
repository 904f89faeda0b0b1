"""What else writes to an object: GitOps, Helm, autoscalers, operators, and hands that edit.

Sources: Argo CD (`argocd.argoproj.io/tracking-id`: `application:group/kind:namespace/name`), Flux
(`kustomize.` and `helm.toolkit.fluxcd.io/name`), Helm (`meta.helm.sh/release-name`), KEDA (its HPAs are named
`keda-hpa-<ScaledObject>`), Kubernetes API (managedFields).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from controller.objects import Objects, Raw
from controller.reading.fields import items, labels, mapping, moment, named, text
from controller.resources import AUTOSCALERS, HYPERPOD_GROUP, PRODUCTION_STACK_GROUP, SCALED_OBJECTS, Resource
from tierdeck.deployed import ObjectRef, Owner

_ARGO = "argocd.argoproj.io/tracking-id"
_INSTANCE = "app.kubernetes.io/instance"
_FLUX = ("kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name")
_HELM = "meta.helm.sh/release-name"
_KEDA = "keda-hpa-"
_OPERATORS = {HYPERPOD_GROUP: "hyperpod-operator", PRODUCTION_STACK_GROUP: "production-stack-operator"}
_BY_HAND = ("kubectl", "k9s", "lens", "openlens", "headlamp", "dashboard")

Path = tuple[str, ...]
"""Names of fields down an object; `*` stands for any item of a list."""


def owners_of(objects: Objects, found: Sequence[tuple[ObjectRef, Raw]], fields: Sequence[Path]) -> tuple[Owner, ...]:
    """Everything that writes to these objects, each once.

    Args:
        found: the source first, then its workloads.
        fields: of the source: strategy and sizes.
    """
    owners: set[Owner] = set()
    for ref, raw in found:
        owners |= {*named_in(raw), *scalers_of(objects, ref)}
    if found:
        for manager, _ in writers(found[0][1], fields):
            if manager.lower().startswith(_BY_HAND):
                owners.add(Owner(manager, "", f"managedFields of {found[0][0]}"))
    return tuple(sorted(owners))


def named_in(raw: Raw) -> Iterator[Owner]:
    """Those that an object's own annotations, labels and owner references name."""
    noted, own = labels(raw, "metadata", "annotations"), labels(raw, "metadata", "labels")
    if _ARGO in noted:
        name = noted[_ARGO].partition(":")[0]
        evidence = f"annotation {_ARGO}" + (f" and label {_INSTANCE}" if own.get(_INSTANCE) == name else "")
        yield Owner("argo-cd", name, evidence)
    for label in _FLUX:
        if label in own:
            yield Owner("flux", own[label], f"label {label}")
    if _HELM in noted:
        yield Owner("helm", noted[_HELM], f"annotation {_HELM}")
    elif own.get("app.kubernetes.io/managed-by") == "Helm":
        yield Owner("helm", own.get(_INSTANCE, ""), "label app.kubernetes.io/managed-by")
    for owner in items(raw, "metadata", "ownerReferences"):
        kind, group = text(owner, "kind"), text(owner, "apiVersion").partition("/")[0]
        if kind:
            yield Owner(_OPERATORS.get(group, f"{kind} controller"), text(owner, "name"), f"ownerReferences: {kind}")


def scalers_of(objects: Objects, ref: ObjectRef) -> Iterator[Owner]:
    """Autoscalers that set the replicas of an object."""
    for scaled, _ in _scaling(objects, SCALED_OBJECTS, ref, "Deployment"):
        yield Owner("keda", scaled.name, f"scaleTargetRef of {scaled}")
    for scaler, raw in _scaling(objects, AUTOSCALERS, ref, ""):
        parents = [text(one, "name") for one in items(raw, "metadata", "ownerReferences")
                   if text(one, "kind") == SCALED_OBJECTS.kind]  # fmt: skip
        if not parents and not scaler.name.startswith(_KEDA):
            yield Owner("hpa", scaler.name, f"scaleTargetRef of {scaler}")
        elif objects.get(SCALED_OBJECTS, ref.namespace, (parents or [scaler.name.removeprefix(_KEDA)])[0]) is None:
            name = (parents or [scaler.name.removeprefix(_KEDA)])[0]
            yield Owner("keda", name, f"scaleTargetRef of {scaler}")


def _scaling(objects: Objects, resource: Resource, ref: ObjectRef, kind: str) -> Iterator[tuple[ObjectRef, Raw]]:
    for scaler, raw in named(objects, resource):
        aim = mapping(raw, "spec", "scaleTargetRef")
        target = ObjectRef(text(aim, "kind") or kind, scaler.namespace, text(aim, "name"))
        if target == ref:
            yield scaler, raw


def writers(raw: Raw, fields: Sequence[Path]) -> list[tuple[str, float]]:
    """Field managers that own one of these fields, and when each wrote last, earliest first."""
    found = []
    for entry in items(raw, "metadata", "managedFields"):
        tree, manager = mapping(entry, "fieldsV1"), text(entry, "manager")
        if manager and any(_owns(tree, path) for path in fields):
            found.append((manager, moment(entry, "time") or 0.0))
    return sorted(found, key=lambda one: one[1])


def changed_by(raw: Raw, fields: Sequence[Path]) -> str:
    """Who wrote one of these fields last; empty where that is not told."""
    found = writers(raw, fields)
    return found[-1][0] if found else ""


def _owns(tree: object, path: Path) -> bool:
    if not path:
        return True
    if not isinstance(tree, Mapping):
        return False
    if path[0] != "*":
        return f"f:{path[0]}" in tree and _owns(tree[f"f:{path[0]}"], path[1:])
    return any(
        _owns(below, path[1:]) for key, below in tree.items() if isinstance(key, str) and key[:2] in ("k:", "v:")
    )
