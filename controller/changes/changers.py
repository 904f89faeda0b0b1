"""Which way an endpoint is changed: those of a cluster have a namespace, those of a lab have none."""

from __future__ import annotations

from controller.changes.changer import Changer, Hold, Verified, unheld
from tierdeck.changes.change import Change
from tierdeck.changes.plan import Plan, Preview, Refusal, Surface
from tierdeck.changes.proof import Proof
from tierdeck.errors import UsageError


class Changers:
    """Both ways as one; either may be missing."""

    def __init__(self, cluster: Changer | None = None, lab: Changer | None = None) -> None:
        self._cluster = cluster
        self._lab = lab

    def plan(self, change: Change, reverted: Change | None) -> Plan | tuple[Refusal, ...]:
        changer = self._of_endpoint(change.endpoint)
        if changer is None:
            return (_nobody(change.endpoint),)
        return changer.plan(change, reverted)

    def preview(self, plan: Plan, at: float) -> Preview:
        return self._of_plan(plan).preview(plan, at)

    def apply(self, plan: Plan, approver: str, hold: Hold = unheld) -> bool:
        return self._of_plan(plan).apply(plan, approver, hold)

    def verify(self, plan: Plan, applied_at: float) -> Verified:
        return self._of_plan(plan).verify(plan, applied_at)

    def probe(self, endpoint: str, wished: str) -> Proof:
        changer = self._of_endpoint(endpoint)
        if changer is None:
            raise UsageError(_nobody(endpoint).reason)
        return changer.probe(endpoint, wished)

    def _of_endpoint(self, endpoint: str) -> Changer | None:
        return self._cluster if "/" in endpoint else self._lab

    def _of_plan(self, plan: Plan) -> Changer:
        is_lab = any(write.surface is Surface.LAB for write in plan.writes)
        changer = self._lab if is_lab else self._cluster
        if changer is None:
            what = "lab (TIERDECK_LAB_URL)" if is_lab else "cluster"
            raise UsageError(f"this controller is connected to no {what}, so it can't go on with the change")
        return changer


def _nobody(endpoint: str) -> Refusal:
    if "/" in endpoint:
        return Refusal("not_possible", f"This controller is connected to no cluster that could have {endpoint}.")
    fix = "Endpoints of a configuration file or a Prometheus are only observed: change them where they are deployed."
    return Refusal("not_possible", f"{endpoint} is no endpoint of a cluster or a lab (TIERDECK_LAB_URL).", fix)
