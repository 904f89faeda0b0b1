"""A plan as files for those whose Git repository owns the objects: patches for kustomize, or values for a chart.

Kustomize merges a patch of a built-in kind by the keys that the API documents, and of a custom resource by its maps
alone, lists being replaced (source: kustomize, examples/customOpenAPIschema.md). So a patch names only what changes,
and a list of a custom resource is written whole, unless something in it is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Plan, Surface, Write
from tierdeck.changes.shown import HIDDEN, is_shown, shown
from tierdeck.errors import TierdeckError

_BUILT_IN = frozenset({"", "apps", "batch", "autoscaling", "policy"})
_KUSTOMIZATION = "kustomization.yaml"


@dataclass(frozen=True, slots=True)
class Exported:
    """What is to be put into a repository.

    Attributes:
        files: (name, content), in order.
        by_hand: what no file can hold and a person has to write, one sentence each.
    """

    files: tuple[tuple[str, str], ...]
    by_hand: tuple[str, ...] = ()


def as_kustomize(plan: Plan) -> Exported:
    """A patch per object, and the kustomization that names them.

    Raises:
        TierdeckError: the plan writes nothing to Kubernetes.
    """
    writes = [one for one in plan.writes if one.surface is Surface.KUBERNETES]
    if not writes:
        raise TierdeckError("this change writes no Kubernetes object, so there is nothing to export")
    files: list[tuple[str, str]] = []
    targets: list[Json] = []
    by_hand = [f"{_surface(one)} can't be exported." for one in plan.writes if one.surface is not Surface.KUBERNETES]
    for write in writes:
        body, left = _patch(write)
        by_hand += left
        if body:
            name = (
                "-".join(one for one in (write.ref.kind.lower(), write.ref.namespace, write.ref.name) if one) + ".yaml"
            )
            files.append((name, _yaml(_named(write) | body)))
            targets.append({"path": name, "target": _target(write)})
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "patches": targets}
    return Exported((*([(_KUSTOMIZATION, _yaml(head))] if files else []), *files), tuple(by_hand))


def _patch(write: Write) -> tuple[dict[str, Json], list[str]]:
    """What changes of the object, and what has to be changed by hand."""
    made: dict[str, Json] = {}
    by_hand: list[str] = []
    is_built_in = _is_built_in(write.api_version)
    for edit in write.edits:
        if not is_built_in and any(_picked(part) for part in edit.path):
            by_hand += _sentences(write, edit)
        elif is_built_in and _is_named_list(edit):
            for one in _by_name(edit):
                _merge(made, _nested(one))
        elif _is_hidden(edit):
            by_hand += _sentences(write, edit)
        else:
            _merge(made, _nested(edit))
    return made, by_hand


def _is_built_in(api_version: str) -> bool:
    group = api_version.rpartition("/")[0]
    return group in _BUILT_IN or group.endswith(".k8s.io")


def _picked(part: str) -> dict[str, str]:
    """`[name=vllm]` -> `{"name": "vllm"}`; empty where the part is a key."""
    if not (part.startswith("[") and part.endswith("]") and "=" in part):
        return {}
    return {key: value for key, _, value in (one.partition("=") for one in part[1:-1].split(","))}


def _nested(edit: FieldEdit) -> dict[str, Json]:
    """The patch of this one field."""
    value: Json = None if edit.after is ABSENT else edit.after
    inner: Json = value
    for at in range(len(edit.path) - 1, -1, -1):
        by = _picked(edit.path[at])
        if not by:
            inner = {edit.path[at]: inner}
        elif at == len(edit.path) - 1 and edit.after is ABSENT:
            inner = [{**by, "$patch": "delete"}]
        else:
            inner = [{**by, **(inner if isinstance(inner, dict) else {})}]
    return inner if isinstance(inner, dict) else {}


def _merge(into: dict[str, Json], more: Mapping[str, Json]) -> None:
    """Lists of what was picked are put together by what it was picked by."""
    for key, value in more.items():
        known = into.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value)
        elif isinstance(known, list) and isinstance(value, list) and all(isinstance(one, dict) for one in value):
            _merge_items(known, value)
        else:
            into[key] = value


def _merge_items(into: list[Json], more: Iterable[Json]) -> None:
    for item in more:
        same = next((one for one in into if _identity(one) == _identity(item)), None)
        if isinstance(same, dict) and isinstance(item, dict):
            _merge(same, item)
        else:
            into.append(item)


def _identity(item: Json) -> Json:
    return item.get("name", item) if isinstance(item, dict) else item


def _is_named_list(edit: FieldEdit) -> bool:
    """A list of objects by name, such as the variables of a container, that was planned as one value."""
    sides = [one for one in (edit.before, edit.after) if one is not ABSENT]
    return all(isinstance(side, list) and side and all(_name(one) for one in side) for side in sides)


def _by_name(edit: FieldEdit) -> Iterator[FieldEdit]:
    """Only the entries that differ."""
    old, new = _entries(edit.before), _entries(edit.after)
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield FieldEdit((*edit.path, f"[name={name}]"), old.get(name, ABSENT), new.get(name, ABSENT))


def _entries(side: Json) -> dict[str, Json]:
    return {_name(one): one for one in side} if isinstance(side, list) else {}


def _name(entry: Json) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _is_hidden(edit: FieldEdit) -> bool:
    """What it becomes has something in it that is not shown."""
    return visible(edit, edit.after) != edit.after or HIDDEN in str(edit.after)


def visible(edit: FieldEdit, side: Json) -> Json:
    """One side of an edit as it may be shown."""
    variable = _picked(edit.path[-2]).get("name", "") if len(edit.path) > 1 else ""
    if variable and edit.path[-1] == "value" and isinstance(side, str):
        return side if is_shown(variable, side) else HIDDEN
    return side if side is ABSENT else shown(side)


def _sentences(write: Write, edit: FieldEdit) -> Iterator[str]:
    """What is to be written by hand, of a list entry by entry, with no value that is not shown."""
    parts = list(_by_name(edit)) if _is_named_list(edit) else [edit]
    for one in parts:
        after = visible(one, one.after)
        entry = after.get("value", after) if isinstance(after, dict) and _name(after) else after
        what = "remove it" if one.after is ABSENT else f"set it to {entry}"
        yield f"{write.ref}, {one.where}: {what}."


def _named(write: Write) -> dict[str, Json]:
    return {"apiVersion": write.api_version, "kind": write.ref.kind, "metadata": {"name": write.ref.name}}


def _file_name(write: Write) -> str:
    parts = (write.ref.kind.lower(), write.ref.namespace, write.ref.name)
    return "-".join(part for part in parts if part) + ".yaml"


def _target(write: Write) -> dict[str, Json]:
    group, _, version = write.api_version.rpartition("/")
    found = {"group": group, "version": version, "kind": write.ref.kind, "name": write.ref.name}
    return {key: value for key, value in found.items() if value}


def _surface(write: Write) -> str:
    return f"{write.ref} ({write.surface})"


def _yaml(document: Mapping[str, Json]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, width=100, allow_unicode=True)
