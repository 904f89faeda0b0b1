"""Sizes of tiers as people type them, in the command and on the page, as one wish."""

from __future__ import annotations

from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import UsageError
from tierdeck.units import parse_size

_LEAST_BYTES = 2**20
"""Of fewer the unit was forgotten."""


def size_wish(l0: str, l1: str, l2: str, salt: str = "") -> Wish:
    """What is empty stays as it is.

    Raises:
        UsageError: nothing is typed, or something that is no size, or one without its unit.
    """
    l0, l1, l2, salt = (typed.strip() for typed in (l0, l1, l2, salt))
    if not (l0 or l1 or l2):
        raise UsageError("no size is given", "Give one of L0, L1 or L2, such as 40Gi; the others stay as they are.")
    if salt and not l2:
        raise UsageError("a cache salt has a size of L2 only", "Give both.")
    return Wish(
        l0=L0Wish.parse(l0) if l0 else None,
        l1_bytes=_bytes("L1", l1) if l1 else None,
        l2_bytes=_bytes("L2", l2) if l2 else None,
        salt=salt,
    )


def _bytes(tier: str, typed: str) -> int:
    size = parse_size(typed)
    if 0 < size < _LEAST_BYTES:
        raise UsageError(f"{tier} {typed} is {size} bytes", "Write the unit too, such as 40Gi.")
    return size
