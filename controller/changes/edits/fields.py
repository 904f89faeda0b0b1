"""A field of an object by its keys: set in a copy, and told as an edit."""

from __future__ import annotations

from controller.objects import Raw
from controller.reading.fields import field, mapping
from tierdeck.changes.plan import ABSENT, FieldEdit, Json


def with_field(raw: Raw, path: tuple[str, ...], value: Json) -> Raw:
    """A copy in which the value stands there; what is missing on the way is made. ABSENT takes it away."""
    name, rest = path[0], path[1:]
    if rest:
        return {**raw, name: with_field(mapping(raw, name), rest, value)}
    if value is ABSENT:
        return {key: one for key, one in raw.items() if key != name}
    return {**raw, name: value}


def edit_of(before: Raw, after: Raw, path: tuple[str, ...]) -> FieldEdit | None:
    """None where both have the same there."""
    old, new = field(before, *path), field(after, *path)
    return None if old == new else FieldEdit(path, ABSENT if old is None else old, ABSENT if new is None else new)
