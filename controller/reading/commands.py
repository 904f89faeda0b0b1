"""What a container starts: its program with its arguments, however they are spelled.

Source: vLLM's command line (0.32.0, utils/argparse_utils.py) is argparse's: `--flag value` and `--flag=value`,
underscores as dashes, the last wins; `--flag.key.inner value` is a part of the flag's JSON object.
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
from controller.reading.shells import Assigned, is_shell, read_script, script_of, split_word
from tierdeck.deployed import Stated

_SHELL_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)(?::-([^}]*))?\}?")
_REFERENCE = re.compile(r"\$\([A-Za-z_][\w.-]*\)")
_SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-sc": "--speculative-config",
    "-q": "--quantization",
}
_OF_NO_MATTER = ("--host", "--port", "--served-model-name", "--api-key", "--root-path", "--data-parallel-address",
                 "--master-addr", "--node-rank", "--data-parallel-rank", "--kv-events-config.endpoint")  # fmt: skip
"""Arguments whose value may be unknown without a doubt about the others."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments.

    Attributes:
        words: all of them; of a script, those of the command that matters here.
        where: the object and container that state them.
        problem: why they can't be read; empty otherwise.
        doubt: why the program may be told something else than these words; empty: it is told just them.
    """

    words: tuple[str, ...] = ()
    where: str = ""
    problem: str = ""
    doubt: str = ""

    def runs(self, *parts: str) -> bool:
        """These words follow each other, each as the last part of a path: `vllm serve`, `-m vllm.entrypoints`."""
        names = [word.rpartition("/")[2] for word in self.words]
        return any(tuple(names[at : at + len(parts)]) == parts for at in range(len(names) - len(parts) + 1))

    def mentions(self, part: str) -> bool:
        return any(part in word for word in self.words)

    def has(self, name: str) -> bool:
        """A flag is there, with or without a value."""
        return any(flag_of(word) == name for word in self.words)

    def all(self, *names: str) -> list[Stated]:
        """Each value of a flag, in order."""
        found = []
        for at, word in enumerate(self.words):
            name = flag_of(word)
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
            if flag_of(word) != name:
                continue
            found += [word.partition("=")[2]] if "=" in word else []
            for value in self.words[at + 1 :]:
                if value.startswith("-"):
                    break
                found.append(value)
        return found

    def parts(self, name: str) -> dict[str, list[Stated]]:
        """Values of `--name.key value`, by `--name.key`."""
        flags = dict.fromkeys(flag_of(word) for word in self.words)
        return {flag: self.all(flag) for flag in flags if flag.startswith(f"{name}.")}

    def document(self, name: str) -> dict[str, object]:
        """A flag's JSON object, with the keys that are given one by one; empty where it is none."""
        found = _json(self.value(name) or "{}")
        made: dict[str, object] = dict(found) if isinstance(found, dict) else {}
        for flag, values in self.parts(name).items():
            *above, last = flag.removeprefix(f"{name}.").removesuffix("+").split(".")
            inner = made
            for key in above:
                known = inner.get(key)
                deeper: dict[str, object] = dict(known) if isinstance(known, dict) else {}
                inner[key] = deeper
                inner = deeper
            inner[last] = _json(values[-1].value)
        return made


def _json(value: str) -> object:
    """What it is as JSON, else the text."""
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


@lru_cache(maxsize=8192)
def flag_of(word: str) -> str:
    """The flag that a word is, with dashes and without its value; empty where it is none."""
    name, dot, key = word.partition("=")[0].partition(".")
    if name in _SHORT:
        return _SHORT[name] + dot + key
    return name.replace("_", "-") + dot + key if name.startswith("--") else ""


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
        return Command(tuple(given), where, "", _doubt_of(given)), environment
    read = read_script(script)
    if read.problem:
        return Command((), where, read.problem), environment
    fits = [at for at, one in enumerate(read.commands) if any(name in word for word in one for name in known)]
    chosen = (fits or [0])[0]
    where_set = f"{where}, shell script"
    before = [one for one in read.assigned if one.at <= chosen or not fits]
    outer = _with_script(environment, [one for one in before if not one.is_own], where_set)
    own = [one for one in before if one.is_own and one.at == chosen]
    doubt = read.doubt
    if sum(_starts(read.commands[at]) for at in fits) > 1:
        doubt = doubt or "its shell script starts vLLM more than once"
    made: list[str] = []
    for word in read.commands[chosen] if read.commands else ():
        split, unresolved = split_word(word, lambda name: _value(outer, name))
        keeps_together = not ("$" in word or "`" in word)
        if unresolved and not (keeps_together and _is_of_no_matter(made[-1] if made else "", split[0])):
            doubt = doubt or f"its shell script has {unresolved}, which is not known"
        made += split
    return Command(tuple(made), where, "", doubt), _with_script(outer, own, where_set)


def _doubt_of(given: list[str]) -> str:
    if is_shell(given) or (given and given[0].endswith(".sh")):
        return f"it is started by a script in a file ({' '.join(given[:2])}), which is not read"
    for before, word in zip(["", *given], given, strict=False):
        if _REFERENCE.search(word) and not _is_of_no_matter(before, word):
            return f"its arguments have {word}, which is not known"
    return ""


def _is_of_no_matter(before: str, word: str) -> bool:
    """It is the value of an argument that is."""
    if "=" in word:
        return flag_of(word) in _OF_NO_MATTER
    return flag_of(before) in _OF_NO_MATTER and "=" not in before and not word.startswith("-")


def _starts(command: Sequence[str]) -> bool:
    made = Command(tuple(command))
    return made.runs("vllm", "serve") or made.mentions("vllm.entrypoints")


def _with_script(environment: Environment, assigned: Sequence[Assigned], where: str) -> Environment:
    """The environment with what a script sets, each value made of those before it."""
    for one in assigned:
        known = environment
        split, unresolved = split_word(one.word, lambda name, known=known: _value(known, name))  # type: ignore[misc]
        value = " ".join(split)
        stated = Stated.unknown(f"a shell script sets it to {value}", where) if unresolved else Stated(value, where)
        environment = known.with_script(one.name, stated)
    return environment


def _value(environment: Environment, name: str) -> str | None:
    """None: it is set to what is not known."""
    found = environment.get(name)
    return "" if found is None else found.value or None
