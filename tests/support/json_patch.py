"""JSON patches (RFC 6902) as an API server applies them: `add` and `remove` are all that ours use."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any


def patched(document: Mapping[str, Any], operations: Iterable[Mapping[str, object]]) -> dict[str, Any]:
    """The document afterwards; a step that does not fit raises, as an API server refuses it."""
    made: dict[str, Any] = copy.deepcopy(dict(document))
    for step in operations:
        *above, last = [part.replace("~1", "/").replace("~0", "~") for part in str(step["path"]).split("/")[1:]]
        inside: Any = made
        for part in above:
            inside = inside[int(part)] if isinstance(inside, list) else inside[part]
        assert step["op"] in ("add", "remove")
        assert isinstance(inside, dict)
        if step["op"] == "add":
            inside[last] = copy.deepcopy(step["value"])
        else:
            del inside[last]
    return made
