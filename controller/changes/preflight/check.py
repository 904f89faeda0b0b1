"""The contract of a check before a change is made: what it refuses, and what a person should know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from controller.changes.preflight.ahead import Ahead
from tierdeck.changes.plan import Refusal

Finding = Refusal | str
"""A text is a warning: one sentence."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at; registered in `CHECKS`.

    Attributes:
        codes: of the refusals that it can make; docs/preflight.md has them all.
        find: pure but for reading; what can't be read or told is a warning that names it.
    """

    name: str
    codes: tuple[str, ...]
    find: Callable[[Ahead], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What all of them found, each sentence once."""

    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
