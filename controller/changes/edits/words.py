"""One argument among a program's words: set, changed or taken out, by the rules of `reading/commands.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from controller.reading.commands import flag_of
from tierdeck.changes.shown import is_secret_flag, shown

_NOT_CLEAR = ("$", '"$', "--")
"""A reference to a variable, or no value at all."""
_USERINFO = re.compile(r"://[^/\s@:]*:[^/\s@]+@")


def with_word(words: Sequence[str], name: str, value: str | None, at: int | None = None) -> list[str]:
    """The words with one flag.

    The occurrence that is in effect, the last, keeps its place and its spelling; the others go. One that is new comes
    last, apart from its value.

    Args:
        name: as `flag_of` says it (`--gpu-memory-utilization`).
        value: None: it goes, each time.
        at: where one that is new is put.
    """
    spans = spans_of(words, name)
    if not spans:
        where = len(words) if at is None else at
        return [*words[:where], *([] if value is None else [name, value]), *words[where:]]
    made: list[str] = []
    position = 0
    for begin, end in spans:
        made += words[position:begin]
        if value is not None and (begin, end) == spans[-1]:
            head, equals, _ = words[begin].partition("=")
            made += [f"{head}={value}"] if equals else [head, value]
        position = end
    return [*made, *words[position:]]


def spans_of(words: Sequence[str], name: str) -> list[tuple[int, int]]:
    """Where a flag with its value stands, each time, as (begin, end)."""
    found = []
    for at, word in enumerate(words):
        if flag_of(word) == name:
            is_apart = "=" not in word and at + 1 < len(words) and not words[at + 1].startswith("--")
            found.append((at, at + 2 if is_apart else at + 1))
    return found


def secret_in(words: Sequence[str]) -> str:
    """What of the words is a secret in the clear, by name; empty where none is.

    Lists of arguments are kept whole in a change, so one with a secret is not edited: nothing is kept that would not
    be shown.
    """
    for before, word in zip(["", *words], words, strict=False):
        name, apart = flag_of(word), is_secret_flag(before)
        if is_secret_flag(word.partition("=")[0]):
            if "=" in word and not word.partition("=")[2].startswith(_NOT_CLEAR):
                return name
        elif apart:
            if not word.startswith(_NOT_CLEAR):
                return flag_of(before)
        elif _USERINFO.search(word):
            return "an address with a password"
        elif "$" not in word and shown(word) != word:
            return "a value that is secret by its name, or an address with a user"
    return ""
