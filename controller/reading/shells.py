"""Scripts that a container hands to a shell, as the commands in them, with what of them can't be told.

`$` and backticks are told apart before the words are: what a quote keeps together is never split.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
LITERAL, QUOTED, _TICK, _SPACE = "\ue000", "\ue001", "\ue002", "\ue003"
"""Stand for a `$` that is one, a `$` in double quotes, a backtick that is one, and a space that does not split."""
_PUNCTUATION = ";&|<>()\n"
_QUOTED_PUNCTUATION = {char: chr(0xE010 + at) for at, char in enumerate(_PUNCTUATION)}
_PLAIN = str.maketrans(
    {LITERAL: "$", QUOTED: "$", _TICK: "`", _SPACE: " ", **{mark: char for char, mark in _QUOTED_PUNCTUATION.items()}}
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PART = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\]\+?|\+)=.*", re.DOTALL)
_REDIRECTION = re.compile(r"&?>{1,2}[&|]?|<{1,3}[&>]?")
_WRAPPERS = frozenset({"exec", "env", "nohup", "export", "time", "then", "do", "else"})
_BRANCHES = frozenset({"if", "elif", "case", "while", "until", "for", "select", "[", "[[", "test"})
_HIDDEN = frozenset({"source", ".", "eval", "declare", "typeset", "readonly", "local", "read", "unset", "alias",
                     "mapfile", "readarray"})  # fmt: skip
_EXPANSION = re.compile(rf"[${QUOTED}](?:\{{([A-Za-z_]\w*)(?:(:?-)([^{{}}]*))?\}}|([A-Za-z_]\w*))")
_UNRESOLVED = re.compile(rf"[$`{QUOTED}]")


@dataclass(frozen=True, slots=True)
class Assigned:
    """A variable that a script sets.

    Attributes:
        at: the number of commands before it.
        is_own: it holds for the command that follows only.
    """

    name: str
    word: str
    at: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of a script, and the variables that it sets, in order.

    Attributes:
        problem: why it can't be taken apart; empty otherwise.
        doubt: why its variables may be others; empty: they are as it says.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    assigned: tuple[Assigned, ...] = ()
    problem: str = ""
    doubt: str = ""


def read_script(script: str) -> Script:
    """Take a script apart; branches and loops are read as if each command ran. Its words go through `split_word`."""
    lexer = shlex.shlex(_marked(script), posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        return Script(problem=f"its shell script can't be read ({error})")
    found: list[Assigned] = []
    commands: list[tuple[str, ...]] = []
    segment: list[str] = []
    is_target = False
    for token in [*tokens, "\n"]:
        if _REDIRECTION.fullmatch(token):
            is_target = True
        elif token and not token.strip(_PUNCTUATION):
            if "(" in token and set(token) & set("<>"):
                segment.append("$")  # what another command prints is an argument, or a file
            command = _without_wrappers(segment, len(commands), found)
            commands += [command] if command else []
            segment, is_target = [], False
        elif is_target:
            is_target = False
        else:
            segment.append(token)
    return Script(tuple(commands), tuple(found), "", _doubt(commands, found, is_either="||" in tokens))


def _marked(script: str) -> str:
    """The script without comments and continued lines, its `$` and backticks told apart."""
    made: list[str] = []
    quote, at = "", 0
    while at < len(script):
        char, following = script[at], script[at + 1 : at + 2]
        if char == "\\" and quote != "'":
            marks = {**_QUOTED_PUNCTUATION, "\n": "", "$": LITERAL, "`": _TICK}
            made.append(marks.get(following, char + following))
            at += 2
            continue
        if char == "#" and not quote and (at == 0 or script[at - 1] in " \t\n;&|()"):
            end = script.find("\n", at)
            at = len(script) if end < 0 else end
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        elif quote == "'":
            char = {**_QUOTED_PUNCTUATION, "$": LITERAL, "`": _TICK}.get(char, char)
        elif quote:
            char = {**_QUOTED_PUNCTUATION, "$": QUOTED}.get(char, char)
        made.append(char)
        at += 1
    return "".join(made)


def _without_wrappers(segment: list[str], at: int, assigned: list[Assigned]) -> tuple[str, ...]:
    position = 0
    while position < len(segment) and (segment[position] in _WRAPPERS or _ASSIGNMENT.fullmatch(segment[position])):
        position += 1
    is_own = position < len(segment)
    for word in segment[:position]:
        found = _ASSIGNMENT.fullmatch(word)
        if found:
            assigned.append(Assigned(found[1], found[2], at, is_own))
    return tuple(segment[position:])


def _doubt(commands: list[tuple[str, ...]], assigned: list[Assigned], *, is_either: bool) -> str:
    for first, *_ in commands:
        if first in _HIDDEN:
            return f"its shell script runs {first}, whose effect is not known"
        if _PART.fullmatch(first):
            return "its shell script adds to a variable"
        if _UNRESOLVED.match(first):
            return f"its shell script runs {plain(first)}, which is not known"
    if assigned and (is_either or any(command[0] in _BRANCHES for command in commands)):
        return "its shell script branches, and sets variables"
    return ""


def split_word(word: str, value: Callable[[str], str | None]) -> tuple[list[str], str]:
    """The words that a shell makes of one, and what of it is not told (empty: all is).

    Args:
        value: of a variable; None: it is not known, empty: it is not set, as far as can be told.
    """
    unresolved = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal unresolved
        known = value(match[1] or match[4])
        if not known and known is not None and match[2] == ":-" and not _UNRESOLVED.search(match[3]):
            known = match[3]
        if not known:
            unresolved = unresolved or match[0]
            return match[0].replace("$", LITERAL).replace(QUOTED, LITERAL)
        known = known.replace("$", LITERAL).replace("`", _TICK)
        return " ".join(known.split()) if match[0].startswith("$") else known.replace(" ", _SPACE)

    made = _EXPANSION.sub(replace, word.replace(" ", _SPACE))
    left = _UNRESOLVED.search(made)
    unresolved = unresolved or (made[left.start() :] if left else "")
    return [plain(part) for part in made.split(" ") if part or not word], plain(unresolved)


def plain(word: str) -> str:
    """As the shell passes it on."""
    return word.translate(_PLAIN)


def script_of(words: list[str]) -> str | None:
    """The script in `sh -c SCRIPT` (`-lc`, `-ec`, `-o pipefail` too); None where these words start no shell."""
    if not is_shell(words):
        return None
    for position, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[position + 1] if position + 1 < len(words) else ""
    return None


def is_shell(words: list[str]) -> bool:
    return bool(words) and words[0].rpartition("/")[2] in SHELLS
