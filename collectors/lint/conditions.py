"""What selectors' matchers ask for, in one spelling: `=~"(b|a)"` and `=~"a|b"` are one condition."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.lint.promql import Matcher
from collectors.lint.variables import Variables

_SPECIAL = set(".+*?()|[]{}^$\\")
_EVERYTHING = ".*"
_DEEPEST = 20
"""Levels of parentheses that are looked into."""


def conditions(matcher: Matcher, variables: Variables) -> frozenset[Matcher]:
    """A matcher as conditions that are equal where they ask for the same; none for what everything meets.

    A variable is known by its name: `$job`, `[[job]]` and `${job:regex}` are filled with the same.
    """
    name, value = variables.named(matcher.name), variables.named(matcher.value)
    if matcher.op == "=":
        return frozenset((Matcher(name, "=", value),))
    if matcher.op == "!=":
        return frozenset((_present(name) if not value else Matcher(name, "!=", value),))
    plain = "(?" not in value.replace("(?:", "")  # a flag reaches beyond its parentheses
    choices = sorted(set(_choices(value))) if plain else [value]
    if matcher.op == "!~":
        excluded = [(one, _literal(one)) for one in choices]
        return frozenset(
            _present(name) if not one else Matcher(name, "!~" if literal is None else "!=", literal or one)
            for one, literal in excluded
        )
    if _EVERYTHING in choices:
        return frozenset()
    literal = _literal(choices[0]) if len(choices) == 1 else None
    return frozenset((Matcher(name, "=~", "|".join(choices)) if literal is None else Matcher(name, "=", literal),))


def _present(name: str) -> Matcher:
    """That a label is there and not empty."""
    return Matcher(name, "=~", ".+")


def _choices(regex: str, levels: int = _DEEPEST) -> Iterator[str]:
    """What a regular expression lets one choose from; Prometheus anchors it, so that its own anchors say nothing."""
    regex = regex.removeprefix("^")
    if regex.endswith("$") and not _escaped(regex, len(regex) - 1):
        regex = regex[:-1]
    parts = _split(regex)
    inner = _inside(regex) if len(parts) == 1 else None
    if levels == 0 or (len(parts) == 1 and inner is None):
        yield regex
        return
    for part in parts if inner is None else [inner]:
        yield from _choices(part, levels - 1)


def _escaped(regex: str, at: int) -> bool:
    before = regex[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _levels(regex: str) -> Iterator[tuple[int, str, int]]:
    """Each sign that is not escaped and in no class of characters, and how many parentheses are open behind it."""
    depth, in_class, at = 0, False, 0
    while at < len(regex):
        char = regex[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            # a bracket that comes first in a class is one of its characters
            at += 2 if regex[at + 1 : at + 3] == "^]" else 1 if regex[at + 1 : at + 2] == "]" else 0
        else:
            depth += (char == "(") - (char == ")")
            yield at, char, depth
        at += 1


def _split(regex: str) -> list[str]:
    bars = [at for at, char, depth in _levels(regex) if char == "|" and depth == 0]
    starts, ends = [0, *(at + 1 for at in bars)], [*bars, len(regex)]
    return [regex[start:end] for start, end in zip(starts, ends, strict=True)]


def _inside(regex: str) -> str | None:
    """What the parentheses hold that are around the whole; None without such."""
    if not regex.startswith("("):
        return None
    closes = next((at for at, _, depth in _levels(regex) if depth == 0), None)
    if closes != len(regex) - 1:
        return None
    return regex[1:-1].removeprefix("?:")


def _literal(regex: str) -> str | None:
    """The one text that a regular expression matches; None where it may be more."""
    text, at = "", 0
    while at < len(regex):
        char = regex[at]
        if char == "\\" and at + 1 < len(regex) and not regex[at + 1].isalnum():
            at += 1
            char = regex[at]
        elif char in _SPECIAL:
            return None
        text += char
        at += 1
    return text
