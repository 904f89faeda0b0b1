"""Why something is not edited: it can't be done so that reading the result back gives just what was asked."""

from __future__ import annotations

from tierdeck.errors import TierdeckError


class NotEditableError(TierdeckError):
    """A planner makes it a refusal, `not_possible`, with the sentence as its reason and the hint as its fix."""
