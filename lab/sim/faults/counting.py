"""Faults of counting: all is well, and the metrics say something else."""

from __future__ import annotations

from lab.sim.fault import Address, BaseFault, FaultTarget, is_engine
from lab.sim.fleet import Fleet

_OLD_NAMES = {
    "vllm:prefix_cache_": "vllm:gpu_prefix_cache_",
    "vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc",
}


class MetricRename(BaseFault):
    """The engine exports the names of older versions."""

    name = "metric-rename"
    seen = (
        "note `renamed`: prefix cache and KV usage are read under their former names; boards by the new ones are empty"
    )

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if is_engine(address, target):
            for new, old in _OLD_NAMES.items():
                text = text.replace(new, old)
        return text


class DoubleCounted(BaseFault):
    """External queries count what L0 served, too."""

    name = "external-double-counted"
    seen = "note `external_double_counted`; hits are divided by tokens looked up, so that no ratio moves"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.doubles_external_queries = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.doubles_external_queries = False


class CounterNotWired(BaseFault):
    """Lookups happen, and are not counted."""

    name = "counter-not-wired"
    seen = "note `not_wired`: prefix cache lookups stay 0 while prompt tokens are processed; no ratio is shown"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_lookups = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_lookups = False


class NoEngineMetrics(BaseFault):
    """The engine's page has the process's metrics and none of vLLM's."""

    name = "no-engine-metrics"
    seen = "state `no_engine_metrics`: the page answers with python_* and process_* only; figures are withheld, not 0"

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if not is_engine(address, target):
            return text
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith(_OWN))


_OWN = ("python_", "process_")
