"""The contract of a set-up stage: what of it is found in the cluster, and what would bring it about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from controller.objects import Objects
from tierdeck.errors import TierdeckError
from tierdeck.l2.file import L2File


class State(StrEnum):
    """Of a stage, or of one thing that it asks for."""

    DONE = "done"
    NOT_DONE = "not_done"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was looked for.

    Attributes:
        about: the object and the field: `StorageClass curvine-sc, parameters.fs-path`.
        found: what stands there, or why that is not known.
        fix: what to do; empty: nothing.
    """

    state: State
    about: str
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """How far a stage is, as the evidence tells."""

    evidence: tuple[Evidence, ...]

    @property
    def state(self) -> State:
        """Done where everything is; what is missing outweighs what is not known."""
        states = {one.state for one in self.evidence}
        for state in (State.NOT_DONE, State.UNKNOWN):
            if state in states:
                return state
        return State.DONE if states else State.UNKNOWN


@dataclass(frozen=True, slots=True)
class File:
    """A file of a plan; a stage's files are applied in their order."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What brings a stage about, or takes it back; nothing of it is done by planning it.

    Attributes:
        commands: in their order; they name the files as they lie in the plan's folder.
        notes: what an operator has to know before, a sentence each.
    """

    files: tuple[File, ...] = ()
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """One look at a cluster.

    Attributes:
        policy_version: in which version the API server has MutatingAdmissionPolicy; empty: in none.
        namespaces: those that are looked into; none: all.
    """

    objects: Objects
    policy_version: str = ""
    namespaces: tuple[str, ...] = ()

    @property
    def file(self) -> L2File:
        """The file of L2 policies."""
        return self.objects.l2

    def absent(self, about: str, found: str, fix: str) -> Evidence:
        """What is in a namespace and was not found: it may be where nothing is looked at."""
        if not self.namespaces:
            return Evidence(State.NOT_DONE, about, found, fix)
        looked = ", ".join(self.namespaces)
        return Evidence(State.UNKNOWN, about, f"{found} in {looked}, and other namespaces are not looked into", fix)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller wants otherwise than usual.

    Attributes:
        values: of `--set NAME=VALUE`, by name; a stage refuses names that it does not know.
        form: of `--as`; empty: the usual one.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    form: str = ""


class NoPlanError(TierdeckError):
    """There is no plan, for a reason."""


class Stage(Protocol):
    """One of the five; registered in `STAGES`, by number."""

    @property
    def number(self) -> int: ...

    @property
    def title(self) -> str: ...

    def look(self, view: View) -> Finding:
        """What is there."""
        ...

    def plan(self, view: View, wishes: Wishes) -> Plan:
        """What would bring it about.

        Raises:
            UsageError: a wish can't be used.
            NoPlanError: there is none.
        """
        ...

    def undo(self, view: View, wishes: Wishes) -> Plan:
        """What would take it back.

        Raises:
            UsageError: a wish can't be used.
            NoPlanError: there is none.
        """
        ...
