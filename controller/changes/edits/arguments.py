"""An argument of a container, in `args`, in `command`, or in the script that a shell is handed."""

from __future__ import annotations

from collections.abc import Sequence

from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.scripts import script_with
from controller.changes.edits.words import secret_in, spans_of, with_word
from controller.objects import Raw
from controller.reading.fields import field, words
from controller.reading.shells import is_shell, script_of

_KEYS = ("command", "args")


def with_argument(container: Raw, name: str, value: str | None) -> Raw:
    """The container whose program is told this flag, once.

    A flag that is new is put where the others are: into `args`, else into `command`.

    Args:
        name: with dashes (`--gpu-memory-utilization`).
        value: None: it is told no such flag.

    Raises:
        NotEditableError: it can't be done exactly, or the arguments hold a secret in the clear.
    """
    lists = {key: _list(container, key) for key in _KEYS}
    given = [*lists["command"], *lists["args"]]
    script = script_of(given)
    secret = secret_in(script.split() if script is not None else given)
    if secret:
        raise NotEditableError(
            f"its arguments hold a secret in the clear ({secret}), and a change keeps them",
            "Give it by a variable from a Secret first.",
        )
    if script is not None:
        made = script_with(script, name, value)
        return _with(container, {key: [made if word == script else word for word in own] for key, own in lists.items()})
    if is_shell(given) or (given and given[0].endswith(".sh")):
        raise NotEditableError(
            f"it is started by a script in a file ({' '.join(given[:2])}), which is not read",
            "State the arguments as a list.",
        )
    if not given and value is not None:
        raise NotEditableError(
            "it states no arguments, and one that is added would take the place of its image's own",
            "State its arguments in full first.",
        )
    return _with(container, _parted(lists, name, value))


def _parted(lists: dict[str, list[str]], name: str, value: str | None) -> dict[str, list[str]]:
    """The two lists, as one is read after the other: a flag may stand at the end of the first."""
    command, args = lists["command"], lists["args"]
    given = [*command, *args]
    if not spans_of(given, name):
        key = "args" if args else "command"
        return {**lists, key: with_word(lists[key], name, value)}
    cut = len(command)
    for begin, end in reversed(spans_of(given, name)):
        if begin < cut < end:  # the flag is command's last word: it moves to its value
            return _parted({"command": command[:-1], "args": [command[-1], *args]}, name, value)
    is_last_in_command = spans_of(given, name)[-1][0] < cut
    return {
        "command": with_word(command, name, value if is_last_in_command else None),
        "args": with_word(args, name, None if is_last_in_command else value) if spans_of(args, name) else args,
    }


def _list(container: Raw, key: str) -> list[str]:
    found = field(container, key)
    if found is not None and (not isinstance(found, list) or len(words(container, key)) != len(found)):
        raise NotEditableError(f"{key} is no list of words")
    return words(container, key)


def _with(container: Raw, lists: dict[str, list[str]]) -> Raw:
    """Lists that did not change stay the very values that they were; an empty one is not stated."""
    made = dict(container)
    for key, own in lists.items():
        if own == words(container, key):
            continue
        if own:
            made[key] = own
        else:
            made.pop(key, None)
    return made


def argument_words(container: Raw) -> Sequence[str]:
    """What it is told, as written: of a script, its text."""
    return [*words(container, "command"), *words(container, "args")]
