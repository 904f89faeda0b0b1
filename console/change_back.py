"""What a revert asks for: what was there before a change, as far as words tell it.

The controller writes back the fields that it kept; the wish of a revert only says what that comes to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tierdeck.changes.change import Change
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import UsageError
from tierdeck.units import parse_size

_END = r"( × \d+ ranks)?\)?"
_FLAGS = (
    (re.compile(rf"--gpu-memory-utilization[ =](\S+?){_END}"), "{}"),
    (re.compile(rf"--kv-cache-memory-bytes[ =](\S+?){_END}"), "{}"),
    (re.compile(rf"--num-gpu-blocks-override[ =](\d+){_END}"), "{}blocks"),
)
"""As `StatedSize.text` spells them: of one rank."""
_BEFORE = re.compile(r"^[\d.]+ [KMGT]?i?B \(")
_SIZE = re.compile(r"(off|[\d.]+ [KMGT]?i?B)( \(.*\))?")


def wish_back(change: Change) -> Wish:
    """As it was before that change."""
    asked, was = change.wish, change.was
    if not asked.strategy:
        l0 = _l0(was) if asked.l0 is not None else None
        l1 = _size(was, "L1") if asked.l1_bytes is not None else None
        l2 = _size(was, "L2") if asked.l2_bytes is not None else None
        if (l0, l1, l2) != (None, None, None):
            return Wish(l0=l0, l1_bytes=l1, l2_bytes=l2, salt=asked.salt if l2 is not None else "")
    known = was.get("strategy", "") if asked.strategy else ""
    return Wish(strategy=known or f"as before change {change.id}")


def _l0(was: Mapping[str, str]) -> L0Wish | None:
    words = _BEFORE.sub("", was.get("L0", ""))
    for flag, form in _FLAGS:
        found = flag.fullmatch(words)
        if found:
            try:
                return L0Wish.parse(form.format(found[1]))
            except UsageError:
                return None
    return None


def _size(was: Mapping[str, str], tier: str) -> int | None:
    found = _SIZE.fullmatch(was.get(tier, ""))
    if found is None:
        return None
    return 0 if found[1] == "off" else parse_size(found[1])
