"""The memory that a container asks for and may take, moved by some bytes."""

from __future__ import annotations

from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.quantities import quantity_of
from controller.objects import Raw
from controller.reading.fields import field, mapping
from controller.reading.quantities import bytes_of
from tierdeck.units import format_size


def with_memory(container: Raw, more_bytes: int) -> Raw:
    """The container with its memory request and limit moved; what is not stated stays unstated.

    Args:
        more_bytes: below 0: less.

    Raises:
        NotEditableError: one of them is no size, or nothing would be left.
    """
    made = dict(container)
    resources = mapping(container, "resources")
    for key in ("requests", "limits"):
        stated = field(resources, key, "memory")
        if stated is None or not more_bytes:
            continue
        own = bytes_of(stated)
        if own is None:
            raise NotEditableError(f"resources.{key}.memory {stated} is no size")
        if own + more_bytes <= 0:
            raise NotEditableError(
                f"resources.{key}.memory is {format_size(own)}, from which {format_size(-more_bytes)} can't be taken"
            )
        resources = {**resources, key: {**mapping(resources, key), "memory": quantity_of(own + more_bytes, stated)}}
        made["resources"] = resources
    return made


def states_memory(container: Raw) -> bool:
    """A request or a limit is there."""
    return any(field(container, "resources", key, "memory") is not None for key in ("requests", "limits"))
