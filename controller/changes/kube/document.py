"""What is sent to make the edits of one object: a server-side apply where that can do it, else the whole object.

A server-side apply takes away only what our own manager applied before. Where an edit takes away a field that another
one owns, the whole object is put instead, at the version that was read, so that it stays one write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.changes.kube.fields import Path, get, picked, put, with_edits
from controller.changes.kube.ownership import holders, is_one_value, owned
from controller.objects import Raw
from tierdeck.changes.plan import ABSENT, FieldEdit, Json


@dataclass(frozen=True, slots=True)
class Document:
    """One object as it is sent.

    Attributes:
        is_apply: only the fields that are ours; else the whole object.
    """

    content: dict[str, object]
    is_apply: bool


def document(raw: Raw, edits: Sequence[FieldEdit]) -> Document:
    """The document of an object that was read just now; both forms hold only at its version.

    Args:
        raw: with apiVersion, kind and managedFields.
    """
    wanted = with_edits(raw, edits)
    made: Json = owned(raw)
    for edit in edits:
        path = _whole(raw, edit.path)
        value = get(wanted, path)
        if value is ABSENT and not _is_only_ours(raw, path):
            return Document(wanted, is_apply=False)
        made = put(made, path, value)
    for path in (("apiVersion",), ("kind",), *(("metadata", one) for one in _IDENTITY)):
        made = put(made, path, get(raw, path))
    return Document(made if isinstance(made, dict) else {}, is_apply=True)


_IDENTITY = ("name", "namespace", "uid", "resourceVersion")


def _whole(raw: Raw, path: Path) -> Path:
    """The path up to a list that is one value: an item of it can't be applied by itself."""
    for at, part in enumerate(path):
        if picked(part) is not None and get(raw, path[:at]) is not ABSENT and is_one_value(raw, path[:at]):
            return path[:at]
    return path


def _is_only_ours(raw: Raw, path: Path) -> bool:
    """An apply without it takes it away; what is not there anyway needs nothing."""
    if get(raw, path) is ABSENT:
        return True
    found = holders(raw, path)
    return bool(found) and all(one.is_ours and one.is_applied for one in found)


def lost(wanted: Json, answer: Json, where: str = "") -> list[str]:
    """Fields that should be there and that the answer lacks: what a write would take away besides its edits."""
    if isinstance(wanted, dict):
        inside = answer if isinstance(answer, dict) else {}
        return [
            path
            for key, value in wanted.items()
            if not (where == "" and key in ("status", "metadata"))
            for path in ([f"{where}.{key}".lstrip(".")] if key not in inside and value not in (None, {}, [])
                         else lost(value, inside[key], f"{where}.{key}".lstrip(".")) if key in inside else [])
        ]  # fmt: skip
    if isinstance(wanted, list):
        inside_list = answer if isinstance(answer, list) else []
        if len(inside_list) < len(wanted):
            return [where]
        return [path for one, other in zip(wanted, inside_list, strict=False) for path in lost(one, other, where)]
    return []
