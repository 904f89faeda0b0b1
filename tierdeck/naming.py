"""Endpoints by the names that people type: in full, or the part after the namespace where that is enough."""

from __future__ import annotations

from collections.abc import Iterable

from tierdeck.errors import UsageError


def short_name(name: str) -> str:
    """`inference/chat` -> `chat`."""
    return name.rpartition("/")[2]


def full_name(typed: str, known: Iterable[str]) -> str:
    """The endpoint that is meant; a full name wins over the same as a short one.

    Raises:
        UsageError: there is none, or several fit.
    """
    names = sorted(set(known))
    if typed in names:
        return typed
    fits = [name for name in names if short_name(name) == typed]
    if len(fits) > 1:
        raise UsageError(f"{typed!r} fits {len(fits)} endpoints: {', '.join(fits)}", "Name one of them in full.")
    if not fits:
        raise UsageError(f"there is no endpoint {typed!r}", f"Known: {', '.join(names) or 'none'}.")
    return fits[0]
