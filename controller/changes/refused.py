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
        return Refusal(self.code, f"{self}.", self.hint)


def refusal_of(error: RefusedError | NotEditableError, where: str = "") -> Refusal:
    """What can't be edited is not possible.

    Args:
        where: the container that was to be edited.
    """
    if isinstance(error, RefusedError):
        return error.refusal
    return Refusal("not_possible", f"{where}: {error}." if where else f"{error}.", error.hint)
