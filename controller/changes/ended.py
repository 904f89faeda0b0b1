"""The event of a change that came to an end, as charts mark it."""

from __future__ import annotations

from tierdeck.changes.change import Change, State
from tierdeck.events import Event, EventKind

_TOLD = (State.KEPT, State.ROLLED_BACK, State.FAILED)


def event_of(change: Change, at: float) -> tuple[Event, ...]:
    """None of a change of which nothing was written, or that goes on."""
    if change.state not in _TOLD:
        return ()
    what = change.wish.text if change.reverts is None else f"back to before change {change.reverts}"
    words = f"change {change.id} ({what}) {'failed' if change.state is State.FAILED else 'is made'}: {change.outcome}"
    return (
        Event(
            change.cluster,
            change.endpoint,
            "",
            at,
            EventKind.CHANGE,
            f"change {change.id}",
            words,
            f"change/{change.id}/{change.state}",
            {"state": change.state, "by": change.by, "approved_by": change.approved_by},
        ),
    )
