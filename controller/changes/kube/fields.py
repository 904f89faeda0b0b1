"""A field of a raw object by the path of a `FieldEdit`: read, set, taken away.

A path's `[name=vllm]` picks from a list of objects; `[containerPort=8000,protocol=TCP]` picks by two of their fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.objects import Raw
from controller.reading.quantities import quantity
from tierdeck.changes.plan import ABSENT, FieldEdit, Json

Path = tuple[str, ...]
_QUANTITIES = frozenset({"requests", "limits"})


def picked(part: str) -> Mapping[str, str] | None:
    """The fields by which a part of a path picks from a list; None where it is a key."""
    if not (part.startswith("[") and part.endswith("]") and "=" in part):
        return None
    pairs = [one.partition("=") for one in part[1:-1].split(",")]
    return {key: value for key, _, value in pairs}


def fits(item: object, by: Mapping[str, str]) -> bool:
    """An item of a list is the one that is picked."""
    return isinstance(item, dict) and all(key in item and str(item[key]) == value for key, value in by.items())


def get(raw: object, path: Path) -> Json:
    """What stands there; ABSENT where the path leads nowhere. Of several items that fit, the last one counts."""
    for part in path:
        by = picked(part)
        if by is not None:
            found = [one for one in raw if fits(one, by)] if isinstance(raw, list) else []
            raw = found[-1] if found else ABSENT
        else:
            raw = raw[part] if isinstance(raw, dict) and part in raw else ABSENT
        if raw is ABSENT:
            return ABSENT
    return raw


def put(raw: Json, path: Path, value: Json) -> Json:
    """A copy in which the value stands there; what is missing on the way is made, and ABSENT takes it away.

    What is on the way and of another type gives way.
    """
    if not path:
        return value
    part, rest = path[0], path[1:]
    by = picked(part)
    if by is None:
        inside = raw if isinstance(raw, dict) else {}
        if value is ABSENT and part not in inside:
            return raw
        made = put(inside.get(part, ABSENT), rest, value)
        kept = {key: one for key, one in inside.items() if key != part or made is not ABSENT}
        return kept if made is ABSENT else {**kept, part: made}
    items = raw if isinstance(raw, list) else []
    at = max((index for index, one in enumerate(items) if fits(one, by)), default=None)
    if at is None:
        if value is ABSENT:
            return raw
        return [*items, put(dict(by), rest, value)]
    made = put(items[at], rest, value)
    return [*items[:at], *([] if made is ABSENT else [made]), *items[at + 1 :]]


def with_edits(raw: Raw, edits: Sequence[FieldEdit]) -> dict[str, object]:
    """The object as it is once all of them are made."""
    made: Json = dict(raw)
    for edit in edits:
        made = put(made, edit.path, edit.after)
    return dict(made) if isinstance(made, dict) else {}


def same(one: Json, other: Json, path: Path = ()) -> bool:
    """Both say the same: of resources also where the server spells a quantity in its own way (`0.5Gi`, `512Mi`)."""
    if one == other and isinstance(one, bool) == isinstance(other, bool):
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], (*path, key)) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b, path) for a, b in zip(one, other, strict=True))
    number = quantity(one) if _QUANTITIES & set(path) else None
    return number is not None and number == quantity(other)


def short(value: Json, most: int = 80) -> str:
    """A value in a sentence."""
    if value is ABSENT:
        return "not there"
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
