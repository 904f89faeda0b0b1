"""Scripts that a container hands to a shell, as the commands in them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_PUNCTUATION = ";&|<>()\n"
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_WRAPPERS = frozenset({"exec", "env", "nohup", "export", "time", "then", "do", "else"})


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of a script, and the variables that it sets.

    Attributes:
        problem: why it can't be taken apart; empty otherwise.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    assigned: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_script(script: str) -> Script:
    """Take a script apart; branches and loops are read as if each command ran."""
    lexer = shlex.shlex(_COMMENT.sub("", script.replace("\\\n", " ")), posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        tokens = list(lexer)
    except ValueError as error:
        return Script(problem=f"its shell script can't be read ({error})")
    assigned: dict[str, str] = {}
    commands: list[tuple[str, ...]] = []
    segment: list[str] = []
    for token in [*tokens, "\n"]:
        if not token.strip(_PUNCTUATION):
            command = _without_wrappers(segment, assigned)
            if command:
                commands.append(command)
            segment = []
        else:
            segment.append(token)
    return Script(tuple(commands), assigned)


def _without_wrappers(segment: list[str], assigned: dict[str, str]) -> tuple[str, ...]:
    for position, word in enumerate(segment):
        found = _ASSIGNMENT.fullmatch(word)
        if found:
            assigned[found[1]] = found[2]
        elif word not in _WRAPPERS:
            return tuple(segment[position:])
    return ()


def script_of(words: list[str]) -> str | None:
    """The script in `sh -c SCRIPT` (`-lc`, `-ec`, `-o pipefail` too); None where these words start no shell."""
    if not words or words[0].rpartition("/")[2] not in SHELLS:
        return None
    for position, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[position + 1] if position + 1 < len(words) else ""
    return None
