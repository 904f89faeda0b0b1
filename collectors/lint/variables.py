"""Grafana's variables in a query: stand-ins before parsing, their own spelling again when written.

A query of a board is a text with holes: `$job`, `${job}`, `${job:regex}`, `[[job]]` and `$__rate_interval`.
What fills a hole is known to Grafana alone, so each is exchanged for something that PromQL takes in its
place and that no query holds otherwise: a word in strings and names, a duration within `[…]` and after
`offset`, a matcher of its own within `{…}`, and elsewhere a word or a number, whichever parses. Equal
variables get equal stand-ins. `Printer` gets the variables back in place of their stand-ins.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from collectors.lint.parsing import UnjudgedError, UnparsableError, parse
from collectors.lint.printing import Printer
from collectors.lint.promql import Expr

_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
_STAND_IN = "tierdeckvariable"
_FIRST_DURATION = timedelta(days=4321)
_FIRST_NUMBER = 987_654_321_000.5
_MOST_GUESSES = 5
"""Of a query's bare variables so many are tried as words and as numbers, in all combinations."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A variable in a query: its whole spelling, its name, and what stands around it.

    Attributes:
        place: `string`, `range`, `braces` or `bare`.
    """

    start: int
    end: int
    name: str
    place: str


class Variables:
    """The stand-ins of one query."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._durations: dict[timedelta, str] = {}
        self._numbers: dict[float, str] = {}
        self._unquoted: dict[str, str] = {}
        self.lost: list[str] = []
        """Variables that were filled with their present value: they can't be written back."""
        self.printer = Printer(self._durations.get, self._numbers.get)

    def word(self, spelling: str) -> str:
        """A word for a variable; the same for the same spelling."""
        for word, known in self._words.items():
            if known == spelling:
                return word
        word = f"{_STAND_IN}{len(self._words)}x"
        self._words[word] = spelling
        return word

    def duration(self, spelling: str) -> timedelta:
        """A duration for a variable, such as `$__rate_interval`."""
        for duration, known in self._durations.items():
            if known == spelling:
                return duration
        duration = _FIRST_DURATION + timedelta(seconds=len(self._durations))
        self._durations[duration] = spelling
        return duration

    def number(self, spelling: str) -> float:
        """A number for a variable."""
        for number, known in self._numbers.items():
            if known == spelling:
                return number
        number = _FIRST_NUMBER + len(self._numbers)
        self._numbers[number] = spelling
        return number

    def matcher(self, spelling: str) -> str:
        """A whole matcher for a variable that stands for some."""
        word = self.word(spelling)
        self._unquoted[f'{word}="{word}"'] = word
        return f'{word}="{word}"'

    def value(self, spelling: str) -> str:
        """The value of a matcher for a variable that brings its own quotes."""
        word = self.word(spelling)
        self._unquoted[f'"{word}"'] = word
        return f'"{word}"'

    def text(self, tree: Expr) -> str:
        """The tree as PromQL with the variables in place."""
        text = self.printer.text(tree)
        for quoted, word in self._unquoted.items():
            text = text.replace(quoted, word)
        return self.spelled(text)

    def spelled(self, text: str) -> str:
        """A text with the variables in place of their words."""
        for word, spelling in self._words.items():
            text = text.replace(word, spelling)
        return text

    def named(self, text: str) -> str:
        """A text in which each variable is known by its name, however it is spelled there; only for comparing."""
        for word, spelling in self._words.items():
            if word in text:
                text = text.replace(word, f"{_STAND_IN}_{_named(spelling)}_")
        return text


@dataclass(slots=True)
class _Scan:
    """Where in a query the scan is."""

    text: str
    at: int = 0
    quote: str = ""
    brackets: list[str] = field(default_factory=list)

    def place(self) -> str:
        if self.quote:
            return "string"
        return {"[": "range", "{": "braces"}.get(self.brackets[-1] if self.brackets else "", "bare")


def holes(text: str) -> Iterator[Hole]:
    """The variables of a query, in order."""
    scan = _Scan(text)
    while scan.at < len(text):
        hole = _hole(scan)
        if hole is not None:
            yield hole
            scan.at = hole.end
            continue
        _step(scan)


def _step(scan: _Scan) -> None:
    char = scan.text[scan.at]
    if scan.quote:
        if char == "\\" and scan.quote != "`":
            scan.at += 1
        elif char == scan.quote:
            scan.quote = ""
    elif char in "\"'`":
        scan.quote = char
    elif char == "#":
        newline = scan.text.find("\n", scan.at)
        scan.at = len(scan.text) if newline < 0 else newline
    elif char in "[{(":
        scan.brackets.append(char)
    elif char in "]})" and scan.brackets:
        scan.brackets.pop()
    scan.at += 1


def _hole(scan: _Scan) -> Hole | None:
    text, start = scan.text, scan.at
    if text.startswith("${", start):
        end = text.find("}", start)
        name = text[start + 2 : end].partition(":")[0].partition(".")[0]
        return Hole(start, end + 1, name, scan.place()) if end > 0 and _is_word(name) else None
    if text.startswith("[[", start):
        end = text.find("]]", start)
        name = text[start + 2 : end].partition(":")[0]
        # the bracket of a range and then one of a class of characters are no variable
        return Hole(start, end + 2, name, scan.place()) if end > 0 and _is_word(name) else None
    if text[start] == "$":
        end = start + 1
        while end < len(text) and text[end] in _WORD:
            end += 1
        name = text[start + 1 : end]
        return Hole(start, end, name, scan.place()) if _is_word(name) else None
    return None


def _named(spelling: str) -> str:
    """A variable's name and its field, the format left out: `job` of `${job:regex}`."""
    return spelling.strip("$[]{}").partition(":")[0]


def _is_word(name: str) -> bool:
    """`$1` is a group of `label_replace`, no variable."""
    return bool(name) and not name[0].isdigit() and all(char in _WORD for char in name)


def parse_with_variables(text: str, values: dict[str, str]) -> tuple[Expr, Variables]:
    """Parse a board's query.

    Args:
        values: what variables stand for at present; used only where one names a function or aggregation.

    Raises:
        UnparsableError: it does not parse, whatever stands in the holes.
        UnjudgedError: it is beyond what is looked at.
    """
    found = list(holes(text))
    guesses = [number for number, hole in enumerate(found) if _free(text, hole)]
    if len(guesses) > _MOST_GUESSES:
        raise UnjudgedError(f"more than {_MOST_GUESSES} variables outside of strings, ranges and names")
    first: UnparsableError | None = None
    for kinds in itertools.product((False, True), repeat=len(guesses)):
        variables = Variables()
        as_number = dict(zip(guesses, kinds, strict=True))
        filled = _filled(text, found, variables, values, as_number)
        try:
            return parse(filled), variables
        except UnparsableError as error:
            first = first or UnparsableError(variables.spelled(str(error)))
    raise first or UnparsableError("an empty query")


def _free(text: str, hole: Hole) -> bool:
    """Whether a variable stands alone where a number could."""
    before, after = text[: hole.start][-1:], text[hole.end : hole.end + 1]
    return hole.place == "bare" and not (before and before in _WORD + ":") and not (after and after in _WORD + ":{[")


def _filled(
    text: str, found: list[Hole], variables: Variables, values: dict[str, str], as_number: dict[int, bool]
) -> str:
    parts, done = [], 0
    for number, hole in enumerate(found):
        if hole.start < done:
            continue
        parts.append(text[done : hole.start])
        filling, done = _filling(text, hole, variables, values, as_number.get(number, False))
        parts.append(filling)
    return "".join((*parts, text[done:]))


def _filling(
    text: str,
    hole: Hole,
    variables: Variables,
    values: dict[str, str],
    as_number: bool,  # noqa: FBT001
) -> tuple[str, int]:
    """What goes in a hole, and where the text goes on behind it."""
    spelling, after = text[hole.start : hole.end], text[hole.end :].lstrip()
    before = text[: hole.start].rstrip()
    if hole.place == "range" or (hole.place == "bare" and before.rstrip("- ").endswith("offset")):
        end = hole.end
        while end < len(text) and text[end].isalpha():  # `${__range_s}s`
            end += 1
        return f"{round(variables.duration(text[hole.start : end]).total_seconds())}s", end
    if hole.place == "braces":
        touching = text[: hole.start][-1:]
        if before.endswith(("=", "~")):
            return variables.value(spelling), hole.end
        if not after.startswith(("=", "!")) and not (touching and touching in _WORD):
            return variables.matcher(spelling), hole.end
    if hole.place == "bare" and after.startswith(("(", "by ", "by(", "without ", "without(")):
        value = values.get(hole.name, "")
        if not _is_word(value):
            raise UnjudgedError(f"{spelling} names a function, and the board doesn't say which")
        variables.lost.append(spelling)
        return value, hole.end
    if as_number:
        return repr(variables.number(spelling)), hole.end
    return variables.word(spelling), hole.end
