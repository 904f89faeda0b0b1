"""Takes changes on, one at a time: claims one, looks at what is there, makes one step, and writes where it is.

Level-triggered: each step begins with a look, and only the store remembers; so a controller that is killed anywhere is
taken over from where it was, and nothing is written twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

import structlog

from controller import metrics
from controller.api.errors import ConflictError, CredentialsError, ExpiredError, ForbiddenError, NotServedError
from controller.changes.changer import Changer
from controller.changes.ended import event_of
from controller.changes.lease import LEASE_SECONDS, Lease
from controller.changes.making import apply, keep, overdue, prove, stopped
from controller.changes.move import LeaseLostError, Move, Work, refused, waiting
from controller.changes.policy import Policy
from controller.changes.previewing import await_approval, begin, is_approved_at_once, propose
from controller.changes.seam import NoSeam, Seam
from db import Store
from health.pulse import Pulse
from tierdeck.changes.change import Change, State, Step
from tierdeck.changes.plan import Refusal
from tierdeck.errors import TierdeckError, UnreachableError
from tierdeck.settings import Settings

log = structlog.get_logger()
BY = "controller"
_LATER = (UnreachableError, ConflictError, ExpiredError, CredentialsError)
"""What may go well the next time: no answer, busy, overtaken, or a token that is being renewed."""
_STEPS: Mapping[State, Callable[[Work, Change, float], Move]] = {
    State.PROPOSED: propose,
    State.PREVIEWED: await_approval,
    State.APPROVED: begin,
    State.APPLYING: apply,
    State.PROVING: prove,
    State.OBSERVING: keep,
}
_FIRST_PAUSE_SECONDS = 1.0
_MOST_PAUSE_SECONDS = 60.0
_MOST_FAULTS = 6
"""Of our own, in one state of a change: the last one half a minute after the first."""
_LOOK_SECONDS = 0.25
_AWAY_SECONDS = 5.0
"""Until the store is asked again that did not answer."""


class Runner:
    """One controller's hands.

    Attributes:
        trouble: what keeps it from its work, one sentence; empty: nothing.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        changer: Changer,
        holder: str,
        *,
        seam: Seam | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            holder: this process's instance, as in its heartbeat.
            clock: epoch seconds.

        Raises:
            UsageError: the file of what may be changed is missing or broken.
        """
        self._settings = settings
        self._store = store
        self._changer = changer
        self._policy = Policy(settings, store)
        self._holder = holder
        self._seam = seam or NoSeam()
        self._clock = clock
        self._tries: dict[int, int] = {}
        self._faults: dict[int, int] = {}
        self.trouble = ""

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop; a change that is being made is let come to the end of its step."""
        while not stop.is_set():
            pulse.beat("changes")
            try:
                has_worked = self.step()
                self.trouble = ""
            except TierdeckError as error:
                if error.line() != self.trouble:
                    log.warning("changes_failed", reason=error.line())
                self.trouble, has_worked = error.line(), False
                stop.wait(_AWAY_SECONDS)
            except Exception as error:  # the loop has to go on for all other changes: told as trouble
                log.exception("changes_failed")
                self.trouble, has_worked = f"a fault of Tierdeck's own: {error!r}", False
                stop.wait(_AWAY_SECONDS)
            if not has_worked:
                stop.wait(_LOOK_SECONDS)

    def step(self) -> bool:
        """Take one change as far as it goes now; False: nothing is due.

        Raises:
            UnreachableError: the store does not answer.
        """
        change = self._store.claim_change(self._settings.cluster, self._holder, self._clock(), LEASE_SECONDS)
        if change is None:
            return False
        with Lease(self._store, change.id, self._holder, self._clock) as lease:
            self._seam.at("claimed")
            work = Work(self._settings, self._changer, self._policy, self._seam, self._store.change, lease.hold)
            try:
                moved: Change | None = change
                while moved is not None:
                    moved = self._go_on(work, moved)
            except LeaseLostError:
                log.info("change_is_anothers", change=change.id)
        return True

    def _go_on(self, work: Work, change: Change) -> Change | None:
        """One step, written; None: it goes no further now."""
        now = self._clock()
        if change.state is State.PREVIEWED and is_approved_at_once(work, change):
            return self._approve(change, now)
        move = self._move(work, change, now)
        state = move.change.state
        step = Step(change.id, now, state, BY, move.words) if move.words else None
        self._seam.at(f"moving {state}")
        if not self._store.move_change(
            move.change,
            step,
            self._holder,
            self._clock(),
            due_at=now + move.pause_seconds,
            events=event_of(move.change, now),
        ):
            raise LeaseLostError
        self._seam.at(f"moved {state}")
        if state is not change.state:
            self._tries.pop(change.id, None)
            self._faults.pop(change.id, None)
            log.info("change_moved", change=change.id, endpoint=change.endpoint, state=state, words=move.words)
        if state.is_over:
            metrics.CHANGES.labels(state=state).inc()
        return None if state.is_over or move.pause_seconds else move.change

    def _approve(self, change: Change, now: float) -> Change | None:
        """In the name of who proposed it; the approval frees the change, so it is claimed again."""
        self._seam.at("approving")
        seen_at = change.preview.at if change.preview is not None else None
        self._store.approve_change(change.id, change.by, now, seen_at=seen_at)
        self._seam.at("approved")
        return None

    def _move(self, work: Work, change: Change, now: float) -> Move:
        """The step of its state; what goes wrong becomes a state or a wait with the reason."""
        try:
            return _STEPS[change.state](work, change, now)
        except _LATER as error:
            return self._later(work, change, now, error.line())
        except TierdeckError as error:
            if change.state in (State.PROVING, State.OBSERVING):  # it is written: what can't be seen may be seen later
                return self._later(work, change, now, error.line())
            if change.state is State.APPLYING:
                return stopped(change, error)
            code = "not_allowed" if isinstance(error, ForbiddenError) else "unreadable"
            code = "not_possible" if isinstance(error, NotServedError) else code
            return refused(change, (Refusal(code, f"{str(error).rstrip('.')}.", error.hint),))
        except LeaseLostError:
            raise
        except Exception as error:  # one odd change must not end the loop for the others: it waits, and says why
            log.exception("change_failed", change=change.id)
            return self._at_fault(work, change, now, f"a fault of Tierdeck's own: {error!r}")

    def _at_fault(self, work: Work, change: Change, now: float, reason: str) -> Move:
        """Tried again, as some pass; not for ever: what is not written yet is refused, and what is has its own end."""
        faults = self._faults[change.id] = self._faults.get(change.id, 0) + 1
        if faults < _MOST_FAULTS or change.state not in (State.PROPOSED, State.APPROVED):
            return self._later(work, change, now, reason)
        told = f"{faults} times {reason}; nothing was written."
        return refused(change, (Refusal("fault", told, "Report it with what the controller logged."),))

    def _later(self, work: Work, change: Change, now: float, reason: str) -> Move:
        """Wait, longer each time, and say why once; not for ever where it is written already."""
        if change.state is State.PROVING:
            given_up = overdue(work, change, now, reason)
            if given_up is not None:
                return given_up
        tries = self._tries[change.id] = self._tries.get(change.id, 0) + 1
        pause = min(_FIRST_PAUSE_SECONDS * 2.0 ** min(tries - 1, 16), _MOST_PAUSE_SECONDS)
        return waiting(change, f"it waits and tries again: {reason}", pause)
