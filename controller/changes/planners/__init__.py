"""The registry of planners."""

from __future__ import annotations

from controller.changes.planner import Planner
from controller.changes.planners.curvine import CURVINE
from controller.changes.planners.deployment import DEPLOYMENT
from controller.changes.planners.hyperpod import HYPERPOD
from controller.changes.planners.jumpstart import JUMPSTART
from controller.changes.planners.production_stack import PRODUCTION_STACK
from controller.changes.planners.production_stack_helm import PRODUCTION_STACK_HELM

PLANNERS: tuple[Planner, ...] = (HYPERPOD, JUMPSTART, PRODUCTION_STACK, PRODUCTION_STACK_HELM, CURVINE, DEPLOYMENT)
