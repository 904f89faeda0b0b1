"""Plain Deployments and StatefulSets: their containers are written, and the router's before them."""

from __future__ import annotations

from controller.changes.edits.errors import NotEditableError
from controller.changes.planner import Look
from controller.changes.planners.lmcache import plan_on_server
from controller.changes.refused import RefusedError, refusal_of
from controller.changes.workloads.resize import resize
from controller.changes.workloads.strategy import switch
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish


class DeploymentPlanner:
    """Endpoints whose source is the workload itself."""

    names: tuple[str, ...] = ("deployment",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        try:
            if wish.strategy:
                return switch(look, wish.strategy)
            return plan_on_server(look, wish) or resize(look, wish)
        except (RefusedError, NotEditableError) as error:
            return (refusal_of(error),)


DEPLOYMENT = DeploymentPlanner()
