"""What a container starts: its program with its arguments, however they are spelled.

Source: vLLM's command line is argparse's: `--flag value` and `--flag=value`, underscores as dashes, the last wins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from controller.objects import Raw
from controller.reading.environment import Environment
from controller.reading.fields import words
from controller.reading.shells import read_script, script_of
from tierdeck.deployed import Stated

_SHELL_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?::-([^}]*))?\}?")
_SHORT = {"-tp": "--tensor-parallel-size", "-pp": "--pipeline-parallel-size", "-dp": "--data-parallel-size"}


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments.

    Attributes:
        words: all of them; of a script, those of the command that matters here.
        where: the object and container that state them.
        problem: why they can't be read; empty otherwise.
    """

    words: tuple[str, ...] = ()
    where: str = ""
    problem: str = ""

    def runs(self, *parts: str) -> bool:
        """These words follow each other, each as the last part of a path: `vllm serve`, `-m vllm.entrypoints`."""
        names = [word.rpartition("/")[2] for word in self.words]
        return any(tuple(names[at : at + len(parts)]) == parts for at in range(len(names) - len(parts) + 1))

    def mentions(self, part: str) -> bool:
        return any(part in word for word in self.words)

    def has(self, name: str) -> bool:
        """A flag is there, with or without a value."""
        return any(_flag(word) == name for word in self.words)

    def all(self, *names: str) -> list[Stated]:
        """Each value of a flag, in order."""
        found = []
        for at, word in enumerate(self.words):
            name = _flag(word)
            if name not in names:
                continue
            _, equals, value = word.partition("=")
            following = self.words[at + 1] if at + 1 < len(self.words) else ""
            if not equals:
                value = "" if following.startswith("--") else following
            where = f"{self.where}, {name}"
            if not value:
                found.append(Stated.unknown(f"{name} is there without a value", where))
            elif _SHELL_VARIABLE.search(value) or "$(" in value:
                found.append(Stated.unknown(f"{name} is {value}, whose value is not known", where))
            else:
                found.append(Stated(value, where))
        return found

    def get(self, *names: str) -> Stated | None:
        """The last value of a flag; None where it is not there."""
        found = self.all(*names)
        return found[-1] if found else None

    def value(self, *names: str) -> str:
        """Empty where it is not there, or not known."""
        found = self.get(*names)
        return found.value if found else ""

    def many(self, name: str) -> list[str]:
        """Values of a flag that takes several: `--worker-urls A B`."""
        found: list[str] = []
        for at, word in enumerate(self.words):
            if _flag(word) != name:
                continue
            found += [word.partition("=")[2]] if "=" in word else []
            for value in self.words[at + 1 :]:
                if value.startswith("-"):
                    break
                found.append(value)
        return found

    def document(self, name: str) -> dict[str, object]:
        """A flag's JSON object; empty where it is none."""
        try:
            found = json.loads(self.value(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


@lru_cache(maxsize=8192)
def _flag(word: str) -> str:
    name = word.partition("=")[0]
    if name in _SHORT:
        return _SHORT[name]
    return name.replace("_", "-") if name.startswith("--") else ""


def read_command(
    container: Raw, environment: Environment, where: str, known: Sequence[str] = ()
) -> tuple[Command, Environment]:
    """A container's command, and its environment with what its script sets.

    Args:
        known: programs that matter: of a script with several commands the first that names one is taken.
    """
    given = [environment.expand(word) for word in (*words(container, "command"), *words(container, "args"))]
    script = script_of(given)
    if script is None:
        return Command(tuple(given), where), environment
    read = read_script(script)
    if read.problem:
        return Command((), where, read.problem), environment
    inner = environment.with_script(read.assigned, f"{where}, shell script")
    fits = [one for one in read.commands if any(name in word for word in one for name in known)]
    chosen = (fits or list(read.commands) or [()])[0]
    return Command(tuple(_substitute(word, inner) for word in chosen), where), inner


def _substitute(word: str, environment: Environment) -> str:
    def replace(match: re.Match[str]) -> str:
        return environment.value(match[1]) or match[2] or match[0]

    return _SHELL_VARIABLE.sub(replace, word) if "$" in word else word
