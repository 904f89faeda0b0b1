"""One argument in a shell script: changed in its text only where reading the script back proves that it is that alone.

The text is changed in the few ways that a person would; the first is taken after which the script's commands are,
word for word, what they were but for the argument, and its variables the same. Else it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.words import spans_of, with_word
from controller.reading.commands import Command, flag_of
from controller.reading.shells import Script, read_script

_FIX = "Change the script by hand, or state the arguments as a list."
_VALUE = r"'[^'\n]*'|\"[^\"\n$`\\]*\"|[^\s;&|<>()'\"$`\\]+"
_GAP = r"(?:[ \t]|\\\n)+"
_FLAG = re.compile(r"(?<=\s)--[A-Za-z]")
_STARTS = (("vllm", "serve"), ("vllm-router",), ("lmcache", "server"))
_MODULES = ("vllm.entrypoints", "vllm_router", "lmcache.v1.multiprocess")


def script_with(script: str, name: str, value: str | None) -> str:
    """The script in which the program is told this.

    Raises:
        NotEditableError: it can't be done with certainty.
    """
    old = read_script(script)
    if old.problem or old.doubt:
        raise NotEditableError(old.problem or old.doubt, _FIX)
    starting = [at for at, one in enumerate(old.commands) if _starts(one)]
    if len(starting) != 1:
        raise NotEditableError(f"its shell script starts the program {len(starting)} times", _FIX)
    words = old.commands[starting[0]]
    place = next((at for at, word in enumerate(words) if flag_of(word)), len(words))
    wanted = list(old.commands)
    wanted[starting[0]] = tuple(with_word(words, name, value, place))
    if wanted == list(old.commands):
        return script
    for text in _ways(script, words, name, value):
        if _is_proved(read_script(text), old, wanted):
            return text
    raise NotEditableError(f"{name} can't be changed in its shell script with certainty", _FIX)


def _is_proved(new: Script, old: Script, wanted: Sequence[tuple[str, ...]]) -> bool:
    return not (new.problem or new.doubt) and list(new.commands) == list(wanted) and new.assigned == old.assigned


def _ways(script: str, words: Sequence[str], name: str, value: str | None) -> Iterator[str]:
    """Texts that may do it."""
    spans = spans_of(words, name)
    if not spans and value is not None:
        yield from (f"{script[: one.start()]}{name} {value} {script[one.start() :]}" for one in _FLAG.finditer(script))
        yield f"{script.rstrip()} {name} {value}\n" if script.endswith("\n") else f"{script} {name} {value}"
        return
    heads = "|".join(sorted({re.escape(words[begin].partition("=")[0]) for begin, _ in spans}))
    found = list(re.finditer(rf"(?P<before>[ \t]+)(?P<head>{heads})(?P<gap>=|{_GAP})(?P<value>{_VALUE})", script))
    if len(found) != len(spans):
        return
    made, position = "", 0
    for at, one in enumerate(found):
        made += script[position : one.start()]
        if value is not None and at == len(found) - 1:
            made += f"{one['before']}{one['head']}{one['gap']}{value}"
        position = one.end()
    yield made + script[position:]


def _starts(words: tuple[str, ...]) -> bool:
    command = Command(words)
    return any(command.runs(*one) for one in _STARTS) or any(command.mentions(one) for one in _MODULES)
