"""What an edited container differs in, as the edits of its fields."""

from __future__ import annotations

from collections.abc import Iterator

from controller.objects import Raw
from controller.reading.fields import field, items, text
from tierdeck.changes.plan import ABSENT, FieldEdit, Json


def edits_between(
    before: Raw, after: Raw, path: tuple[str, ...], env: str = "env", *, is_keyed: bool = True
) -> tuple[FieldEdit, ...]:
    """The edits of `command`, `args`, variables, and memory.

    Args:
        path: of the container, from its object's root.
        env: where its variables are listed.
        is_keyed: variables are a map by name, as in pods: one that is new or goes is an edit of the whole entry
            (`env[name=X]`), one that changes an edit of its value (`env[name=X].value`). Else the list is one value.
    """
    found = [_edit(before, after, path, key) for key in ("command", "args")]
    if is_keyed:
        found += _variables(before, after, path, env)
    else:
        found.append(_edit(before, after, path, env))
    found += [_edit(before, after, path, "resources", key, "memory") for key in ("requests", "limits")]
    return tuple(one for one in found if one.before != one.after)


def _edit(before: Raw, after: Raw, path: tuple[str, ...], *inner: str) -> FieldEdit:
    return FieldEdit((*path, *inner), _value(before, *inner), _value(after, *inner))


def _value(raw: Raw, *path: str) -> Json:
    found = field(raw, *path)
    return ABSENT if found is None else found


def _variables(before: Raw, after: Raw, path: tuple[str, ...], env: str) -> Iterator[FieldEdit]:
    old, new = _by_name(before, env), _by_name(after, env)
    counted = [text(one, "name") for one in items(before, env)]
    for name in dict.fromkeys([*old, *new]):
        entry = (*path, env, f"[name={name}]")
        was, becomes = old.get(name), new.get(name)
        if was is None or becomes is None or counted.count(name) > 1:
            yield FieldEdit(entry, _or_absent(was), _or_absent(becomes))
        elif was != becomes:
            yield FieldEdit((*entry, "value"), _value(was, "value"), _value(becomes, "value"))


def _or_absent(raw: Raw | None) -> Json:
    return ABSENT if raw is None else dict(raw)


def _by_name(container: Raw, env: str) -> dict[str, Raw]:
    """Of several with one name, the last."""
    return {text(one, "name"): one for one in items(container, env)}
