"""Follow a change in the store: each new step is a line on stderr, until it is where one waits for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from console.change_limits import nobody_changes
from console.change_queries import change_of
from console.change_words import state_words
from db import Store
from tierdeck.changes.change import Change, State
from tierdeck.errors import UnreachableError
from tierdeck.units import format_seconds

_PAUSE_SECONDS = 0.3
_LOOK_AFTER_SECONDS = 5.0
"""Whether a controller is alive is asked so often."""

Done = Callable[[Change], bool]


class Following:
    """One change that somebody waits for."""

    def __init__(self, store: Store, change_id: int) -> None:
        self._store = store
        self.id = change_id
        self._told = 0

    def until(self, is_done: Done, limit_seconds: float) -> Change:
        """The change as soon as it is so.

        Raises:
            UnreachableError: nobody works on it, or it takes longer than the limit; it stays as it is.
        """
        started_at = asked_at = time.monotonic()
        while True:
            change = change_of(self._store, self.id)
            self._tell()
            if is_done(change):
                return change
            now = time.monotonic()
            if now - asked_at >= _LOOK_AFTER_SECONDS:
                asked_at = now
                self._check_alive(change)
            if now - started_at > limit_seconds:
                waited = f"change {self.id} is still {change.state} after {format_seconds(limit_seconds)}"
                raise UnreachableError(waited, how_to_follow(self.id))
            time.sleep(_PAUSE_SECONDS)

    def _tell(self) -> None:
        steps = self._store.change_steps(self.id)
        for step in steps[self._told :]:
            at = datetime.fromtimestamp(step.at, UTC).strftime("%H:%M:%S")
            print(f"{at}  {state_words(step.state)}  {step.words}", file=sys.stderr, flush=True)
        self._told = len(steps)

    def _check_alive(self, change: Change) -> None:
        trouble = nobody_changes(self._store.processes(), time.time())
        if trouble:
            reason, _, hint = trouble.partition(". ")
            raise UnreachableError(f"change {self.id} stays {change.state}: {reason}", hint)


def is_looked_at(change: Change) -> bool:
    """There is a preview, or none will come."""
    return change.state is not State.PROPOSED


def is_at_rest(change: Change) -> bool:
    """It is over, or waits for a person."""
    return change.state.is_over or needs_approval(change)


def needs_approval(change: Change) -> bool:
    """It is previewed, and goes no further by itself."""
    only = change.preview is not None and bool(change.preview.plan.exports_only)
    return change.state is State.PREVIEWED and (not change.is_approved_at_once or only or bool(change.next_step))


def how_to_follow(change_id: int) -> str:
    return (
        f"`tierdeck change {change_id} --wait` follows it, `tierdeck cancel {change_id}` ends it if nothing is written."
    )
