"""Objects as a plan's edits make them, without asking a server."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from controller.objects import Raw
from tierdeck.changes.plan import ABSENT, FieldEdit, Json


def edited(raw: Raw, edits: Iterable[FieldEdit]) -> Raw:
    """A copy of an object with each field as it becomes; what a path needs on its way is made."""
    made: Any = copy.deepcopy(dict(raw))
    for edit in edits:
        _put(made, edit.path, edit.after)
    return made if isinstance(made, dict) else {}


def _put(part: Any, path: tuple[str, ...], value: Json) -> None:
    for at, step in enumerate(path[:-1]):
        part = _into(part, step, is_list=path[at + 1].startswith("["), makes=value is not ABSENT)
    if not path:
        return
    last = path[-1]
    if last.startswith("[") and isinstance(part, list):
        key, wanted = _picks(last)
        kept = [one for one in part if not (isinstance(one, dict) and one.get(key) == wanted)]
        part[:] = kept if value is ABSENT else [*kept, copy.deepcopy(value)]
    elif isinstance(part, dict) and value is ABSENT:
        part.pop(last, None)
    elif isinstance(part, dict):
        part[last] = copy.deepcopy(value)


def _into(part: Any, step: str, *, is_list: bool, makes: bool) -> Any:
    """One step down; None where there is nothing and nothing is to be made."""
    if step.startswith("["):
        if not isinstance(part, list):
            return None
        key, wanted = _picks(step)
        found = next((one for one in part if isinstance(one, dict) and one.get(key) == wanted), None)
        if found is None and makes:
            found = {key: wanted}
            part.append(found)
        return found
    if not isinstance(part, dict):
        return None
    if not isinstance(part.get(step), (dict, list)) and makes:
        part[step] = [] if is_list else {}
    return part.get(step)


def _picks(step: str) -> tuple[str, str]:
    """Key and value of `[name=vllm]`."""
    key, _, wanted = step.strip("[]").partition("=")
    return key, wanted
