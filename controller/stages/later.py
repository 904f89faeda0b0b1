"""A stage that this version does not check: said as that, and never taken for done or not done."""

from __future__ import annotations

from dataclasses import dataclass

from controller.stage import Evidence, Finding, NoPlanError, Plan, State, View, Wishes

_REASON = "this version of Tierdeck does not check it yet"


@dataclass(frozen=True, slots=True)
class Later:
    """By its number and title only."""

    number: int
    title: str

    def look(self, view: View) -> Finding:
        return Finding((Evidence(State.UNKNOWN, self.title, _REASON),))

    def plan(self, view: View, wishes: Wishes) -> Plan:
        raise NoPlanError(f"stage {self.number} has no plan: {_REASON}", "Stages 3 and 4 have one.")

    def undo(self, view: View, wishes: Wishes) -> Plan:
        return self.plan(view, wishes)
