"""Who owns a field of an object, and what our own manager owns of it, by its managedFields.

Source: Kubernetes API, meta/v1 ManagedFieldsEntry and FieldsV1: `f:NAME` is a field, `k:{…}` an item of a list by its
keys, `v:…` a value of a set; an empty tree owns all below it; `.` is the object or item itself.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from controller.changes.kube.fields import Path, fits, get, picked
from controller.objects import Raw
from controller.reading.fields import items, mapping, moment, text
from tierdeck.changes.plan import ABSENT, Json

MANAGER = "tierdeck"
"""Our field manager."""
_BY_HAND = (
    "kubectl", "helm", "k9s", "lens", "openlens", "headlamp", "dashboard", "mozilla", "before-first-apply",
    "openapi-generator", "python-requests", "curl", "terraform", "hashicorp", "pulumi", "kustomize-cli", "rancher",
    "node-fetch",
)  # fmt: skip
"""Beginnings of managers that write when a person or a pipeline runs them, and then no more."""
_GITOPS = ("argocd", "kustomize-controller", "helm-controller", "fleet", "gotk-")
_SCALERS = ("keda", "kube-controller-manager", "horizontal-pod-autoscaler", "vpa-", "cluster-autoscaler")


@dataclass(frozen=True, slots=True)
class Holder:
    """A manager that owns a field.

    Attributes:
        at: when it wrote last, epoch seconds; 0: not told.
        subresource: by which it wrote (`scale`); empty: the object itself.
        is_applied: by server-side apply.
    """

    manager: str
    at: float
    subresource: str = ""
    is_applied: bool = False

    @property
    def is_ours(self) -> bool:
        return self.manager == MANAGER

    @property
    def is_gitops(self) -> bool:
        return self.manager.lower().startswith(_GITOPS)

    @property
    def is_scaler(self) -> bool:
        by_scale = self.subresource == "scale" and not self.is_by_hand()
        return by_scale or self.manager.lower().startswith(_SCALERS)

    def is_by_hand(self, more: tuple[str, ...] = ()) -> bool:
        """It would not write its value back by itself.

        Args:
            more: beginnings of other managers of that kind.
        """
        return not self.is_gitops and self.manager.lower().startswith((*_BY_HAND, *(one.lower() for one in more)))


def holders(raw: Raw, path: Path) -> tuple[Holder, ...]:
    """Every manager that owns this field, what it is in, or a part of it; who wrote last comes last."""
    found = [
        Holder(
            text(entry, "manager"),
            moment(entry, "time") or 0.0,
            text(entry, "subresource"),
            text(entry, "operation") == "Apply",
        )
        for entry in items(raw, "metadata", "managedFields")
        if text(entry, "subresource") != "status" and _holds(mapping(entry, "fieldsV1"), path, raw)
    ]
    return tuple(sorted(found, key=lambda one: (one.at, one.manager)))


def is_one_value(raw: Raw, path: Path) -> bool:
    """A list at this path has no keys: whoever writes it, writes all of it. Told by who owns it."""
    nodes = [_node(mapping(entry, "fieldsV1"), path) for entry in items(raw, "metadata", "managedFields")]
    known = [node for node in nodes if node is not None]
    return bool(known) and not any(key.startswith(("k:", "v:")) for node in known for key in node)


def owned(raw: Raw) -> dict[str, object]:
    """What our manager has applied, as a partial object: what is left out of the next apply would be taken away."""
    made: Json = {}
    for entry in items(raw, "metadata", "managedFields"):
        if text(entry, "manager") == MANAGER and text(entry, "operation") == "Apply" and not text(entry, "subresource"):
            made = _merged(made, _part(mapping(entry, "fieldsV1"), raw))
    return made if isinstance(made, dict) else {}


def _holds(tree: object, path: Path, raw: Json) -> bool:
    """A tree that ends above the field owns it as a part of one value; of one that is empty there is no part."""
    if not path:
        return tree is not None
    if not tree:
        return tree is not None and raw is not ABSENT and bool(raw)
    return _holds(_below(tree, path[0]), path[1:], get(raw, path[:1]))


def _node(tree: object, path: Path) -> Mapping[str, object] | None:
    """The tree at a path; None where it is not owned, or only as a part of what is above."""
    for part in path:
        if not tree:
            return None
        tree = _below(tree, part)
    return tree if isinstance(tree, dict) else None


def _below(tree: object, part: str) -> object:
    """None: what is there is not owned."""
    if not isinstance(tree, dict):
        return None
    by = picked(part)
    if by is None:
        return tree.get(f"f:{part}")
    return next((below for keys, below in _items(tree) if fits(keys, by)), None)


def _items(tree: Mapping[str, object]) -> Iterator[tuple[dict[str, object], object]]:
    """Items of a list with the keys that tell them apart."""
    for key, below in tree.items():
        if key.startswith("k:"):
            keys = json.loads(key[2:])
            if isinstance(keys, dict):
                yield keys, below


def _part(tree: object, raw: Json) -> Json:
    """The part of a value that a tree owns; ABSENT where it is not there any more."""
    if not isinstance(tree, dict) or not tree:
        return copy.deepcopy(raw)
    if isinstance(raw, list):
        made = [keys | part for keys, below in _items(tree) for part in _owned_items(keys, below, raw)]
        values = [json.loads(key[2:]) for key in tree if key.startswith("v:")]
        return [*made, *(one for one in values if one in raw)]
    if not isinstance(raw, dict):
        return raw
    parts = {key[2:]: _part(below, raw[key[2:]]) for key, below in tree.items()
             if key.startswith("f:") and key[2:] in raw}  # fmt: skip
    return {key: part for key, part in parts.items() if part is not ABSENT}


def _owned_items(keys: dict[str, object], below: object, raw: list[object]) -> Iterator[dict[str, object]]:
    for one in raw:
        if isinstance(one, dict) and all(one.get(key) == value for key, value in keys.items()):
            part = _part(below, one)
            yield part if isinstance(part, dict) else {}
            return


def _merged(one: Json, other: Json) -> Json:
    """Both of two parts of one object."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: _merged(one[key], value) if key in one else value for key, value in other.items()}}
    return other
