"""One move of a change: what it is from now on, what is told of it, and when to look at it next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller.changes.changer import Changer
from controller.changes.policy import Policy
from controller.changes.seam import Seam
from tierdeck.changes.change import Change, State
from tierdeck.changes.plan import Refusal
from tierdeck.settings import Settings


class LeaseLostError(Exception):
    """Somebody else has the change now, or it was cancelled: nothing more is done with it here."""


@dataclass(frozen=True, slots=True)
class Work:
    """What every step needs.

    Attributes:
        find: a change by its id; None: there is none.
        hold: raises LeaseLostError where the change is not this controller's any more; asked before each write.
    """

    settings: Settings
    changer: Changer
    policy: Policy
    seam: Seam
    find: Callable[[int], Change | None]
    hold: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Move:
    """What a step came to.

    Attributes:
        words: of the step that stays, one sentence; empty: there is nothing new to tell.
        pause_seconds: until the next look; 0: at once.
    """

    change: Change
    words: str
    pause_seconds: float = 0.0


def to(change: Change, state: State, words: str, next_step: str = "") -> Move:
    """On to a state, whose words are the outcome too."""
    return Move(replace(change, state=state, outcome=words, next_step=next_step), words)


def refused(change: Change, refusals: tuple[Refusal, ...]) -> Move:
    """Nothing was written, and nothing will be."""
    first, more = refusals[0], len(refusals) - 1
    words = first.reason.rstrip(".") + (f" (and {more} more reason{'s' * (more > 1)})" if more else "")
    return to(replace(change, refusals=refusals), State.REFUSED, words, first.fix)


def waiting(change: Change, words: str, pause_seconds: float) -> Move:
    """Still where it was; told once for each reason."""
    return Move(replace(change, outcome=words), "" if change.outcome == words else words, pause_seconds)
