"""Faults of counting: all is well, and the metrics say something else."""

from __future__ import annotations

import re

from lab.sim.fault import Address, BaseFault, FaultTarget, is_cache, is_engine
from lab.sim.faults.processes import embedded
from lab.sim.fleet import Fleet


class DoubleCounted(BaseFault):
    """External queries count what L0 served, too."""

    name = "external-double-counted"
    seen = "note `external_double_counted`; hits are divided by tokens looked up, so that no ratio moves"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.doubles_external_queries = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.doubles_external_queries = False


class ExternalCountedTwice(BaseFault):
    """Each request counts twice with its connector, as with asynchronous loads of some versions."""

    name = "external-counted-twice"
    seen = (
        "note `external_mismatch`: external queries and hits exceed what L0 left over; L1, L2 and miss are withheld "
        "as long as the hits do"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.counts_external_twice = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.counts_external_twice = False


class CounterNotWired(BaseFault):
    """Lookups happen, and are not counted."""

    name = "counter-not-wired"
    seen = "note `not_wired`: prefix cache lookups stay 0 while prompt tokens are processed; no ratio is shown"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_lookups = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_lookups = False


class HitsNotUpdated(BaseFault):
    """L0 serves, lookups are counted, and hits are not."""

    name = "hits-not-updated"
    seen = (
        "L0 falls to 0 and what it serves counts as miss, on one replica, with a TTFT as before; LMCache found those "
        'tokens (note `found_not_loaded`), and `prompt_tokens_cached_by_source{source="device"}` goes on, which the '
        "note `not_wired` says with both figures"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_hits = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_hits = False


class HitsWithoutLookups(BaseFault):
    """A build of the engine that lacks the counter of lookups; to bring it in, the pod restarts."""

    name = "hits-without-lookups"
    seen = (
        "after a restart hits have no denominator: tokens that L0 served are counted, prompt tokens are not "
        "exported, and no ratio is shown"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).restart()

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).restart()

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return _LOOKUPS.sub("", text) if is_engine(address, target) else text


class RetrievalNotCounted(BaseFault):
    """LMCache inside vLLM counts what lookups find and not what is retrieved; the pod restarts to bring it in."""

    name = "retrieval-not-counted"
    seen = (
        "after a restart `lmcache:num_hit_tokens` and `num_vllm_hit_tokens` stay 0 while lookups hit: the tiers fill "
        "and are told as ever, since L0 and external hits are vLLM's; boards by those counters show 0 %"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        embedded(fleet, target).restart()

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        embedded(fleet, target).restart()

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return _RETRIEVED.sub(r"\1 0.0", text) if is_cache(address, target) else text


class TtftUndercounted(BaseFault):
    """Every second first token is not observed, as under very high concurrency."""

    name = "ttft-undercounted"
    seen = (
        "note `counters_disagree`: TTFT counts half as many answers as requests ended, and its quantiles are of those "
        "alone"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_half_of_ttft = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).miscounts.ignores_half_of_ttft = False


class TtftOffScale(BaseFault):
    """Requests wait half a minute before an engine sees them, and the last bucket ends at 10 s."""

    name = "ttft-off-scale"
    seen = "TTFT quantiles read `at least 10 s`: all of it lies in the last bucket, which has no upper bound"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).held_seconds += _HELD_SECONDS

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).held_seconds -= _HELD_SECONDS

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return _LARGE_BUCKETS.sub("", text) if is_engine(address, target) else text


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
_HELD_SECONDS = 30.0
_LOOKUPS = re.compile(r"^(# \w+ )?vllm:prefix_cache_queries_.*\n", re.MULTILINE)
_RETRIEVED = re.compile(r"^(lmcache:num_(?:hit|vllm_hit)_tokens_total\{.*\}) .*$", re.MULTILINE)
_LARGE_BUCKETS = re.compile(
    r'^vllm:time_to_first_token_seconds_bucket\{.*le="(?:20|40|80|\d{3,})\.0".*\n', re.MULTILINE
)
