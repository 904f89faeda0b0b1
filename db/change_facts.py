"""Changes and proofs as JSON: exact there and back; what can't be read is told as such, never guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from db.codec import load
from tierdeck.changes.change import Change
from tierdeck.changes.plan import ABSENT
from tierdeck.changes.proof import Proof

_dump = json.JSONEncoder(separators=(",", ":")).encode
"""All in ASCII, so that a NUL in somebody's words, which PostgreSQL's text can't hold, is an escape."""


class UnreadableError(ValueError):
    """A newer version wrote it, or it is damaged."""


def dump_change(change: Change) -> str:
    """A field that is not there (`ABSENT`) has no value here either; JSON's null is another thing."""
    return _dump(_plain(change))


def load_change(text: str) -> Change:
    """A field that the text lacks has its default, one that is no longer known is passed over.

    Raises:
        UnreadableError: it is no change as this version knows them.
    """
    try:
        found = load(text)
        for edit in _edits(found):
            edit.setdefault("before", ABSENT)
            edit.setdefault("after", ABSENT)
        return _change().validate_python(found)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableError(_reason(error)) from error


def dump_proof(proof: Proof) -> str:
    return _dump(_plain(proof))


def load_proof(text: str) -> Proof:
    """Likewise.

    Raises:
        UnreadableError: it is no proof as this version knows them.
    """
    try:
        return _proof().validate_json(text)
    except ValueError as error:
        raise UnreadableError(_reason(error)) from error


@cache
def _change() -> TypeAdapter[Change]:
    return TypeAdapter(Change)


@cache
def _proof() -> TypeAdapter[Proof]:
    return TypeAdapter(Proof)


def _plain(value: object) -> object:
    if is_dataclass(value):
        found = ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _plain(part) for name, part in found if part is not ABSENT}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _edits(change: dict[str, object]) -> list[dict[str, object]]:
    """Of a change as JSON, those of its preview; raises where it has another shape."""
    preview = change.get("preview")
    if preview is None:
        return []
    return [edit for write in preview["plan"]["writes"] for edit in write["edits"]]  # type: ignore[index]


def _reason(error: Exception) -> str:
    """The first line that tells something, without the stored values: one could be anything."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"it is no such document ({type(error).__name__})"
