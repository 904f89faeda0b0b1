"""The contract of a way to change live deployments: through the Kubernetes API, or of the lab's fleet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan, Preview, Refusal
from tierdeck.changes.proof import Proof
from tierdeck.errors import TierdeckError


class StoppedError(TierdeckError):
    """A write that can't be made, now or later.

    Attributes:
        written: how many of the plan's writes are there nevertheless; None: not known.
    """

    def __init__(self, message: str, hint: str = "", *, written: int | None = None) -> None:
        super().__init__(message, hint)
        self.written = written


class DriftedError(StoppedError):
    """A field is neither what it was at the preview nor what it is to become: somebody else wrote it."""


class DeniedError(StoppedError):
    """The API server, or a webhook of the cluster, refuses this write, and would again."""


Hold = Callable[[], None]
"""Raises where the change is not this controller's any more; asked right before each effect."""


def unheld() -> None:
    """Nobody else could have it."""


class Progress(StrEnum):
    """How far what was written has come."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verified:
    """What reading back tells.

    Attributes:
        words: one sentence: for what it waits, why it failed (pod, container, reason).
        next_step: what a person can do; empty where nothing has to be done.
    """

    progress: Progress
    words: str
    next_step: str = ""


class Changer(Protocol):
    """One way to change live deployments.

    Every method looks at what is there now; none remembers anything between two calls, so that a controller that is
    killed anywhere goes on where it was. All may raise `ApiUnreachableError` and its like for what may work later.
    """

    def plan(self, change: Change, reverted: Change | None) -> Plan | tuple[Refusal, ...]:
        """How it would be made on what is there now; or each reason why it can't, or must not.

        Args:
            reverted: of a revert, the change whose fields are written back.
        """
        ...

    def preview(self, plan: Plan, at: float) -> Preview:
        """What the server would store (dry run).

        Raises:
            DeniedError: the server refuses it.
            DriftedError: what is there is no longer what was planned on.
        """
        ...

    def apply(self, plan: Plan, approver: str, hold: Hold = unheld) -> bool:
        """Write what is not there yet; a write that is there already is not made again.

        Args:
            approver: on whose behalf, where this is told to the server.
            hold: asked after the last look and before each write, so that who lost the change writes nothing more.

        Returns:
            Whether anything was written now.

        Raises:
            DeniedError, DriftedError: nothing more was written; what was written before stays.
        """
        ...

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        """Whether it took effect: generations, rollout, what each running pod carries."""
        ...

    def probe(self, endpoint: str, wished: str) -> Proof:
        """Which strategy the router's behaviour fits (at most 20 requests, 15 s)."""
        ...
