"""A refusal on its way up from where a planner finds it."""

from __future__ import annotations

from controller.changes.edits.errors import NotEditableError
from tierdeck.changes.plan import Refusal
from tierdeck.errors import TierdeckError


class RefusedError(TierdeckError):
    """A change is not made; planners catch it and give its refusal."""

    def __init__(self, code: str, reason: str, fix: str = "") -> None:
        super().__init__(reason, fix)
        self.code = code

    @property
    def refusal(self) -> Refusal:
        return Refusal(self.code, str(self), self.hint)


def refusal_of(error: RefusedError | NotEditableError) -> Refusal:
    """What can't be edited is not possible."""
    return error.refusal if isinstance(error, RefusedError) else Refusal("not_possible", str(error), error.hint)
