"""Which alert each fault and each change of the admin API raises, and which it must not; docs/lab.md has the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierdeck.alerts.rule import Rule
from tierdeck.alerts.rules import (
    HIT_RATIO_DROP,
    L2_OUTAGE,
    NO_DATA,
    POOL_FULL,
    REQUESTS_DEFERRED,
    TIER_DROP,
    TTFT_BURN,
)


@dataclass(frozen=True, slots=True)
class Raises:
    """Exactly one alert, while it lasts.

    Attributes:
        cause: what the alert names first.
        where: on which fleets or with which settings; empty: on any with traffic to speak of.
    """

    rule: Rule
    cause: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Quiet:
    """No alert at all; `why` none helps."""

    why: str


Expected = Raises | Quiet

_HEALS = "L2 serves what L0 and L1 lost, and these fill again by themselves; one that lasts is said after an hour"
_NAMES = "names are read under each of their spellings"
_VERSIONS = "no figure hangs on what a running process tells of its version"

OF_FAULTS: Mapping[str, Expected] = {
    "replica-restart": Quiet(_HEALS),
    "node-replaced": Quiet(f"{_HEALS}; the pool lacks a worker for less than the 2 minutes that make an outage"),
    "eviction-crash": Quiet(f"{_HEALS}; what left L2 is computed once more and stored again"),
    "preemptions": Quiet("no tier moves and no request fails"),
    "cache-server-frozen": Raises(HIT_RATIO_DROP, "cache_server"),
    "cache-server-gone": Raises(REQUESTS_DEFERRED, "cache_server"),
    "embedded-init-failed": Raises(HIT_RATIO_DROP, "cache_server", "once the restart's hour is over"),
    "cache-metrics-pushed": Quiet("hits are vLLM's and go on; only which of L1 and L2 they came from is not told"),
    "slow-scrape": Quiet("the ratio is that of the replicas that are read; `no_data` says where none can be"),
    "l0-wiped": Raises(TIER_DROP, "l0_wiped", "where this replica's L0 is 12 points of the endpoint's prompt tokens"),
    "router-down": Quiet("what fails before an engine is not seen, and without traffic nothing is judged"),
    "worker-loss": Raises(L2_OUTAGE, "l2_outage"),
    "l2-unreadable": Raises(L2_OUTAGE, "l2_outage"),
    "l2-write-only": Raises(L2_OUTAGE, "l2_outage"),
    "fuse-hang": Raises(L2_OUTAGE, "l2_outage"),
    "full-pool": Raises(POOL_FULL, "l2_outage"),
    "l2-writes-lost": Raises(L2_OUTAGE, "l2_outage"),
    "coordinator-drift": Quiet("nothing is taken from the coordinator's directory: tiers and room are right"),
    "quota-conflict": Raises(HIT_RATIO_DROP, "quota", "with cache salts; without any the cause is `eviction_storm`"),
    "master-stall": Quiet("the pool's figures go on from `/api/workers`"),
    "fuse-metrics-error": Quiet("the mounts serve; only their own counts are missing"),
    "hash-seed": Raises(HIT_RATIO_DROP, "key_mismatch"),
    "shared-key-space": Raises(
        TIER_DROP,
        "workload_shift",
        "at the next endpoint, whose L0 has to hold the other's texts as well; that they are found under another's "
        "keys is told by no metric",
    ),
    "strategy-not-effective": Quiet("nothing is worse than before: L0's share is what it was"),
    "chat-not-routed": Raises(TIER_DROP, "routing_change", "under `kvaware`"),
    "workload-shift": Raises(HIT_RATIO_DROP, "workload_shift"),
    "eviction-storm": Raises(HIT_RATIO_DROP, "eviction_storm"),
    "metric-rename": Quiet(_NAMES),
    "names-respelled": Quiet(_NAMES),
    "both-names": Quiet(_NAMES),
    "external-double-counted": Quiet("no ratio moves, as hits are divided by the tokens looked up"),
    "external-counted-twice": Quiet("the cache is as it was: the ratio is withheld, and that is no drop"),
    "counter-not-wired": Quiet("the cache is as it was: tokens found and not counted are neither lost nor a miss"),
    "hits-not-updated": Quiet("the cache is as it was: tokens found and not counted are neither lost nor a miss"),
    "hits-without-lookups": Quiet("no ratio is told, which is no drop; after the restart tiers fill by themselves"),
    "retrieval-not-counted": Quiet("no figure is taken from these counters; after the restart tiers fill"),
    "ttft-undercounted": Quiet("the first tokens that are counted are as late as all of them"),
    "ttft-off-scale": Raises(TTFT_BURN, "queueing", "with a TTFT objective of at most 10 s, where the buckets end"),
    "no-engine-metrics": Raises(NO_DATA, "metrics_lost", "where no other replica of the endpoint is read"),
    "engine-upgraded": Quiet(f"{_HEALS}; where a counter means something else since, what is usual is learnt anew"),
    "version-silent": Quiet(_VERSIONS),
    "version-page": Quiet(_VERSIONS),
}

OF_CHANGES: Mapping[str, Expected] = {
    "strategy": Raises(TIER_DROP, "routing_change", "from `prefixaware` to `roundrobin`; the way back raises none"),
    "sizes of L0 and L1": Raises(TIER_DROP, "resized", "to a third; the hit ratio drops too where L2 is small"),
    "sizes of L2": Raises(HIT_RATIO_DROP, "resized", "to a tenth, where the others hold too little"),
    "replicas, more": Quiet("the new ones begin cold, L2 serves them, and they fill by themselves"),
    "replicas, fewer": Quiet("L2 has what the gone ones had"),
    "traffic": Raises(HIT_RATIO_DROP, "workload_shift", "to requests that have less in common"),
}
"""By the first word after `/admin/`, and what of it is changed."""
