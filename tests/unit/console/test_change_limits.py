"""What can be done with a change, and whether anybody works on it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from console.change_limits import nobody_changes, why_no_approval, why_no_cancel, why_no_revert
from tests.support.any_changes import CHANGE
from tierdeck.changes.change import State
from tierdeck.changes.plan import Plan, Preview

NOW = 10_000.0


def processes(*rows: tuple[str, float, float | None]) -> pd.DataFrame:
    """(name, last heartbeat, when it signed off)."""
    columns = ["name", "beat_at", "stopped_at"]
    found = pd.DataFrame(rows, columns=columns)
    for column in columns[1:]:
        found[column] = pd.to_datetime(found[column], unit="s", utc=True)
    return found


def test_somebody_has_to_be_alive() -> None:
    assert nobody_changes(processes(("controller", NOW - 90, None)), NOW) == ""
    assert nobody_changes(processes(("controller", NOW - 600, None), ("controller", NOW - 5, None)), NOW) == ""


def test_that_nobody_is_alive_is_said_with_what_to_do() -> None:
    never = nobody_changes(processes(("collectors", NOW, None)), NOW)
    assert never.startswith("No controller runs that could make changes.")
    assert "python -m controller" in never
    silent = nobody_changes(processes(("controller", NOW - 91, None)), NOW)
    assert "its last heartbeat was 91 s ago" in silent
    assert nobody_changes(processes(("controller", NOW - 5, NOW - 4)), NOW) != ""  # it was told to end


@pytest.mark.parametrize("state", State)
def test_what_can_be_done_follows_from_the_state(state: State) -> None:
    change = replace(CHANGE, state=state)
    assert (why_no_approval(change) == "") is (state is State.PREVIEWED)
    assert (why_no_cancel(change) == "") is (state in {State.PROPOSED, State.PREVIEWED, State.APPROVED})
    assert (why_no_revert(change) == "") is (state in {State.KEPT, State.FAILED})


def test_what_a_gitops_tool_owns_is_not_approved_here() -> None:
    preview = Preview(Plan((), exports_only="argo-cd chat owns it"), "", NOW)
    refused = why_no_approval(replace(CHANGE, state=State.PREVIEWED, preview=preview))
    assert refused == "it is not written here: argo-cd chat owns it"
