"""A change of an endpoint, from its proposal to its end; each transition is a step that stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tierdeck.changes.plan import Preview, Refusal
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish


class State(StrEnum):
    """Where a change is."""

    PROPOSED = "proposed"
    PREVIEWED = "previewed"
    REFUSED = "refused"
    APPROVED = "approved"
    APPLYING = "applying"
    PROVING = "proving"
    OBSERVING = "observing"
    KEPT = "kept"
    ROLLED_BACK = "rolled_back"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return not NEXT[self]

    @property
    def is_working(self) -> bool:
        """The controller has something to do."""
        return self in _WORKING


NEXT: Mapping[State, frozenset[State]] = {
    State.PROPOSED: frozenset({State.PREVIEWED, State.REFUSED, State.CANCELLED}),
    State.PREVIEWED: frozenset({State.APPROVED, State.REFUSED, State.CANCELLED, State.PREVIEWED}),
    State.APPROVED: frozenset({State.APPLYING, State.PREVIEWED, State.REFUSED, State.CANCELLED}),
    State.APPLYING: frozenset({State.PROVING, State.FAILED}),
    State.PROVING: frozenset({State.OBSERVING, State.FAILED}),
    State.OBSERVING: frozenset({State.KEPT, State.ROLLED_BACK, State.FAILED}),
    State.REFUSED: frozenset(),
    State.KEPT: frozenset(),
    State.ROLLED_BACK: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
"""A preview that is no longer true is made anew: from `approved` back to `previewed`."""

_WORKING = frozenset({State.PROPOSED, State.APPROVED, State.APPLYING, State.PROVING, State.OBSERVING})


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        wish: what is asked; of a revert what the endpoint goes back to, in words only where nothing is known.
        by: who proposed it.
        reason: why, in the proposer's words; may be empty.
        key: the same for the same click: proposing it again finds the first.
        proposed_at: epoch seconds.
        was: the configuration that it was proposed on, as `Configuration` says it in words:
            `strategy`, `L0`, `L1`, `L2`; what is not known is missing.
        reverts: id of the change whose stored fields are written back; None: it is no revert.
        is_approved_at_once: no second look is wanted: it goes on from `previewed` by itself (`--yes`), unless
            somebody else has to approve.
        id: of the store; 0: not stored yet.
        preview: None until there is one.
        refusals: why it was refused.
        approved_by, approved_at: empty and None until approved.
        proof: of the strategy, by behaviour; None: not proved (yet).
        outcome: how it ended or why it goes no further now, one sentence.
        next_step: what a person can do now; empty: nothing has to be done.
        notes: `not_judged`, `probe_off` and the like, with words after a colon.
        ended_at: epoch seconds.
        applied_at: when all of it was written, epoch seconds; None: not (yet).
    """

    cluster: str
    endpoint: str
    wish: Wish
    by: str
    reason: str
    key: str
    proposed_at: float
    was: Mapping[str, str]
    reverts: int | None = None
    is_approved_at_once: bool = False
    id: int = 0
    state: State = State.PROPOSED
    preview: Preview | None = None
    refusals: tuple[Refusal, ...] = ()
    approved_by: str = ""
    approved_at: float | None = None
    proof: Proof | None = None
    outcome: str = ""
    next_step: str = ""
    notes: tuple[str, ...] = ()
    ended_at: float | None = None
    applied_at: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One transition, or something that happened within a state.

    Attributes:
        by: a person, or `controller`.
        words: one sentence.
    """

    change_id: int
    at: float
    state: State
    by: str
    words: str
