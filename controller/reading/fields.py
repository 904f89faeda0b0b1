"""Fields of an API object by their path; one that is missing or of a wrong type reads as empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from controller.objects import Objects, Raw
from controller.resources import Resource
from tierdeck.deployed import ObjectRef

_WORDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text", int: "a number", bool: "true or false"}


def field(raw: object, *path: str) -> Any:
    """What stands there; None where the path does not lead anywhere."""
    for name in path:
        raw = raw.get(name) if isinstance(raw, dict) else None  # as JSON makes them; checking for any Mapping is slow
    return raw


def mapping(raw: object, *path: str) -> Raw:
    found = field(raw, *path)
    return found if isinstance(found, dict) else {}


def text(raw: object, *path: str) -> str:
    found = field(raw, *path)
    return found if isinstance(found, str) else ""


def whole(raw: object, *path: str) -> int | None:
    """A whole number that is not negative, as counts and ports are."""
    found = field(raw, *path)
    fits = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 53
    return found if fits else None


def flag(raw: object, *path: str, default: bool = False) -> bool:
    found = field(raw, *path)
    return found if isinstance(found, bool) else default


def items(raw: object, *path: str) -> list[Raw]:
    """The objects of a list; what is no object there is left out."""
    found = field(raw, *path)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def words(raw: object, *path: str) -> list[str]:
    """The texts of a list; numbers, which the API refuses but a hand may write, count as texts."""
    found = field(raw, *path)
    if not isinstance(found, list):
        return []
    return [str(one) for one in found if isinstance(one, (str, int, float)) and not isinstance(one, bool)]


def labels(raw: object, *path: str) -> dict[str, str]:
    """A map of text to text, such as labels and annotations."""
    return {key: value for key, value in mapping(raw, *path).items() if isinstance(key, str) and isinstance(value, str)}


def moment(raw: object, *path: str) -> float | None:
    """A time of the API (`2026-11-30T06:35:55Z`) as epoch seconds."""
    try:
        at = datetime.fromisoformat(text(raw, *path))
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo is not None else None


def named(objects: Objects, resource: Resource) -> Iterator[tuple[ObjectRef, Raw]]:
    """Every object of a kind with its name, in the order of names."""
    kept = objects.kinds.get(resource, {})
    for namespace, name in sorted(kept):
        raw = kept[namespace, name]
        if name and isinstance(raw, Mapping):
            yield ObjectRef(resource.kind, namespace, name), raw


def mistyped(ref: ObjectRef, raw: Raw, kinds: Mapping[str, type]) -> Iterator[str]:
    """A sentence for each field that is there and of a wrong type.

    Args:
        kinds: by path, with dots (`spec.worker.args`).
    """
    for path, kind in kinds.items():
        found = field(raw, *path.split("."))
        right = isinstance(found, kind) and (kind is bool or not isinstance(found, bool))
        if found is not None and not right:
            yield f"{ref}: {path} is not {_WORDS[kind]}, so it is not read."
