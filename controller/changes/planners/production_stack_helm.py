"""Deployments of production-stack's Helm chart: written like plain ones, with what the chart's next upgrade does.

Source: vllm-project/production-stack, helm/templates/deployment-vllm-multi.yaml: LMCACHE_MAX_LOCAL_CPU_SIZE is set
where `int(cpuOffloadingBufferSize) > 0`, so that neither `0.5` nor `4Gi` sets any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.changes.planner import Look
from controller.changes.planners.deployment import DEPLOYMENT
from controller.changes.workloads.l1 import SIZE
from tierdeck.changes.plan import Carrying, Plan, Refusal
from tierdeck.changes.wish import Wish


class ProductionStackHelmPlanner:
    """Endpoints that the chart made."""

    names: tuple[str, ...] = ("production-stack-helm",)

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        found = DEPLOYMENT.plan(look, wish)
        if not isinstance(found, Plan):
            return found
        return replace(found, warnings=(*found.warnings, *_values(found, wish)))


def _values(plan: Plan, wish: Wish) -> Iterator[str]:
    """Where the chart's values say the same."""
    keys = []
    if wish.strategy and "Deployment" in plan.kinds:
        keys.append("routerSpec.routingLogic")
    if wish.l0 is not None:
        keys.append(
            "modelSpec[].vllmConfig.gpuMemoryUtilization" if wish.l0.share else "modelSpec[].vllmConfig.extraArgs"
        )
    if wish.l1_bytes is not None:
        keys.append("modelSpec[].lmcacheConfig.cpuOffloadingBufferSize and requestMemory")
    if keys:
        yield f"The chart's values ({', '.join(keys)}) still say what was: its next upgrade writes that back."
    for one in plan.carries:
        if one.kind is Carrying.ENVIRONMENT and one.name == SIZE and not (one.value or "").isdigit():
            yield (
                f"The chart makes nothing of cpuOffloadingBufferSize {one.value}: only whole numbers from 1 on set "
                f"{SIZE}, so its values can't say this size."
            )


PRODUCTION_STACK_HELM = ProductionStackHelmPlanner()
