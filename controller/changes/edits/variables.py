"""A variable of a container's environment: set once, or taken out."""

from __future__ import annotations

from controller.changes.edits.errors import NotEditableError
from controller.objects import Raw
from controller.reading.fields import field, items, mapping, text


def with_variable(container: Raw, name: str, value: str | None, key: str = "env") -> Raw:
    """The container that is given this variable, once: the last of several counts, and stays.

    Args:
        value: None: it is not given.
        key: where its variables are listed (`environmentVariables` in HyperPod's objects).

    Raises:
        NotEditableError: its value comes from somewhere else.
    """
    listed = field(container, key)
    if listed is not None and (not isinstance(listed, list) or len(items(container, key)) != len(listed)):
        raise NotEditableError(f"{key} is no list of variables")
    own = [at for at, one in enumerate(listed or ()) if text(one, "name") == name]
    for at in own:
        source = mapping((listed or [])[at], "valueFrom")
        if source:
            raise NotEditableError(
                f"{name} comes from {_said(source)}, not from a value of its own",
                "Change it there, or give it a value here first.",
            )
    if (value is None and not own) or (len(own) == 1 and text((listed or [])[own[0]], "value") == value):
        return container
    made: list[Raw] = []
    for at, one in enumerate(listed or ()):
        if at not in own:
            made.append(one)
        elif value is not None and at == own[-1]:
            made.append({**one, "value": value})
    if value is not None and not own:
        made.append({"name": name, "value": value})
    if made:
        return {**container, key: made}
    return {one: known for one, known in container.items() if one != key}


def _said(source: Raw) -> str:
    kind = next(iter(source), "")
    inner = mapping(source, kind)
    return " ".join(part for part in (kind, text(inner, "name"), text(inner, "key")) if part)
