"""What can't be done with a change now, and why; and why nobody works on one."""

from __future__ import annotations

import pandas as pd

from console.words import BEAT_LATE_SECONDS, age_words
from tierdeck.changes.change import Change, State

PROCESS = "controller"
_START = "`tierdeck up --kubernetes` starts one, as the demo does; alone it is `python -m controller`."


def why_no_approval(change: Change) -> str:
    """Why it can't be approved; empty: it can."""
    if change.state is State.PROPOSED:
        return "there is no preview to approve yet"
    if change.state is not State.PREVIEWED:
        return f"it is {_called(change.state)}"
    only = change.preview.plan.exports_only if change.preview is not None else ""
    return f"it is not written here: {only}" if only else ""


def why_no_cancel(change: Change) -> str:
    """Why it can't be cancelled; empty: it can."""
    if change.state in (State.PROPOSED, State.PREVIEWED, State.APPROVED):
        return ""
    return f"it is {_called(change.state)}" + ("" if change.state.is_over else ": once it ends it can be reverted")


def why_no_revert(change: Change) -> str:
    """Why it can't be reverted; empty: it can."""
    if not change.state.is_over:
        return f"it is {_called(change.state)}, and not over"
    if change.state is State.ROLLED_BACK:
        return "what was there before is back already"
    return "" if change.state in (State.KEPT, State.FAILED) else "nothing of it was written"


def nobody_changes(processes: pd.DataFrame, now: float) -> str:
    """Why no controller takes changes now, in a sentence with what to do; empty: one is alive.

    Args:
        processes: as `Store.processes`.
    """
    own = processes[processes["name"] == PROCESS]
    if own.empty:
        return f"No controller runs that could make changes. {_START}"
    beats = [one.timestamp() for one in own["beat_at"]]
    alive = [at for at, stopped in zip(beats, own["stopped_at"].notna(), strict=True) if not stopped]
    if alive and now - max(alive) <= BEAT_LATE_SECONDS:
        return ""
    silent = age_words(max(0.0, now - max(beats)))
    return f"No controller runs any more that could make changes; its last heartbeat was {silent} ago. {_START}"


def _called(state: State) -> str:
    return str(state).replace("_", " ")
