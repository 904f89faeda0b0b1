"""The registry of alert rules."""

from __future__ import annotations

from tierdeck.alerts.alert import Severity
from tierdeck.alerts.rule import Rule, Scope

HIT_RATIO_DROP = Rule(
    name="hit_ratio_drop",
    title="The hit ratio dropped",
    severity=Severity.WARNING,
    meaning="Far fewer prompt tokens come from a cache than is usual for this endpoint at this time of day: over 15 "
    "minutes, and over the last 5 too.",
    advice=(
        "Begin with the first cause that the alert names; it says which replica or tier lost how many points.",
        "After a restart, rollout or scale-out tiers fill again by themselves: watch that the ratio rises.",
        "After a change of routing or sizes that you did not want, take it back.",
        "If the mix of requests changed, nothing is broken: acknowledge, and what is usual is learnt anew.",
    ),
    unit="ratio",
    hold_seconds=180,
    clear_seconds=300,
    inhibits=("hit_ratio_drift", "hit_ratio_floor", "tier_drop", "l2_costs"),
)
HIT_RATIO_DRIFT = Rule(
    name="hit_ratio_drift",
    title="The hit ratio is sinking",
    severity=Severity.WARNING,
    meaning="The hit ratio loses ground slowly: no minute stands out, and their sum does (CUSUM over what is usual).",
    advice=(
        "Look at the pool and at L1: tiers that no longer hold what the traffic needs sink like this.",
        "Look at stores to L2: where they are lost, what is in L2 ages.",
        "If prompts have less in common than before, the traffic changed: acknowledge.",
    ),
    unit="ratio",
    hold_seconds=0,
    clear_seconds=900,
    inhibits=("hit_ratio_drop", "hit_ratio_floor", "tier_drop"),
)
HIT_RATIO_FLOOR = Rule(
    name="hit_ratio_floor",
    title="The hit ratio is below its floor",
    severity=Severity.WARNING,
    meaning="The hit ratio is below the least that you set for this endpoint, over 15 minutes with enough traffic.",
    advice=("See the causes; if the floor is no longer what you expect, set another.",),
    unit="ratio",
    hold_seconds=300,
    clear_seconds=300,
    inhibits=("hit_ratio_drop", "hit_ratio_drift", "tier_drop"),
)
TIER_DROP = Rule(
    name="tier_drop",
    title="A tier serves much less",
    severity=Severity.INFO,
    meaning="One tier's share of the prompt tokens is far below what is usual, while the tiers below it make up for "
    "it: slower, but not computed again.",
    advice=(
        "L0: look for a restart, a wiped prefix cache, or routing that spreads what belongs together.",
        "L1: look at its size, its evictions, and at restarts of the cache server.",
        "L2: look at the pool: workers, room, and whether stores complete.",
    ),
    unit="ratio",
    hold_seconds=1200,
    clear_seconds=300,
)
TTFT_BURN = Rule(
    name="ttft_burn",
    title="TTFT spends its budget",
    severity=Severity.CRITICAL,
    meaning="So many first tokens come later than the objective allows that its error budget of 30 days is spent much "
    "too fast: 14.4 times over an hour and 5 minutes, or 6 times over 6 hours and 30 minutes.",
    advice=(
        "See whether the hit ratio fell at the same time: then its causes are the ones to mend.",
        "If not, look at requests waiting, and at the engines' own load.",
    ),
    unit="times the budget",
    hold_seconds=0,
    clear_seconds=300,
)
L2_OUTAGE = Rule(
    name="l2_outage",
    title="L2 is not working",
    severity=Severity.CRITICAL,
    meaning="The shared tier is out, or a part of it: workers are lost, what is submitted to it is not stored, or what "
    "is found in it is not loaded. It is one of the pool where workers are lost, or at least two endpoints and half of "
    "the busy ones see it; else it is one of the endpoint that sees it, whose mount may be all that is broken. Workers "
    "that have been lost for a day are how it is: the alert about them resolves then, though they are not back.",
    advice=(
        "See which of the signs the alert names: lost workers, stores that never complete, lookups without loads.",
        "Where it is one endpoint's, begin at that endpoint: its mount, its cache server, its node.",
        "Workers: see their pods and drives. Stores and loads: see the FUSE mount of the node for a hang.",
        "Requests go on without L2, slower. If they fail instead, take L2 out of the endpoint.",
    ),
    unit="share",
    hold_seconds=120,
    clear_seconds=300,
    inhibits=(
        "hit_ratio_drop",
        "hit_ratio_drift",
        "hit_ratio_floor",
        "tier_drop",
        "l2_costs",
        "ttft_burn",
        "requests_deferred",
    ),
    scope=Scope.CLUSTER,
)
REQUESTS_FAILING = Rule(
    name="requests_failing",
    title="Requests fail",
    severity=Severity.CRITICAL,
    meaning="More than one request in a hundred ended in an error of the engine over 5 minutes.",
    advice=(
        "If L2 was lost before it, take L2 out of the endpoint: requests must not depend on it.",
        "Else read the engine's log at that time.",
    ),
    unit="share",
    hold_seconds=60,
    clear_seconds=300,
)
POOL_FULL = Rule(
    name="pool_full",
    title="The pool is full",
    severity=Severity.CRITICAL,
    meaning="Less than 5 % of the pool is free, and what is submitted to it is not stored (or nobody tells whether "
    "it is). What is in it is still served; what is new never gets there, so that the hit ratio sinks as it ages.",
    advice=(
        "Free room, oldest first, as the janitor does (`tierdeck janitor` says how long room lasts), or add workers.",
        "See which endpoint writes so much: a replica that never finds what it stored fills the pool alone.",
    ),
    unit="share",
    hold_seconds=120,
    clear_seconds=300,
    inhibits=(
        "hit_ratio_drop",
        "hit_ratio_drift",
        "hit_ratio_floor",
        "tier_drop",
        "l2_outage",
        "l2_costs",
        "pool_filling",
    ),
    scope=Scope.CLUSTER,
)
POOL_FILLING = Rule(
    name="pool_filling",
    title="The pool fills up",
    severity=Severity.WARNING,
    meaning="At the pace of its last hour's writes the pool is full within 4 hours. A full pool answers writes with "
    "I/O errors, and evicts nothing by itself. Not of a pool in which room is made as it is needed: one that has taken "
    "stores at its brim within a day.",
    advice=(
        "Free room, oldest first, as the janitor does (`tierdeck janitor` says how long room lasts), or add workers.",
        "Lower the time to live, if one can hold it at this pace: `tierdeck janitor` says so.",
        "See which endpoint writes so much: a replica that never finds what it stored fills the pool alone.",
    ),
    unit="seconds",
    hold_seconds=300,
    clear_seconds=600,
)
L2_COSTS = Rule(
    name="l2_costs",
    title="L2 costs more than it saves",
    severity=Severity.INFO,
    meaning="Loading a token from below L0 takes at least as long as computing it: with this traffic L2 slows answers.",
    advice=(
        "Raise the least length of a prompt that is loaded (`LMCACHE_MIN_RETRIEVE_TOKENS`).",
        "Look at the network and the drives; if they are as they must be, this endpoint is better off without L2.",
    ),
    unit="seconds a token",
    hold_seconds=900,
    clear_seconds=900,
)
REQUESTS_DEFERRED = Rule(
    name="requests_deferred",
    title="Requests wait for the cache",
    severity=Severity.CRITICAL,
    meaning="Requests wait as `deferred`: the engine waits for an answer of the cache server, and is healthy to all "
    "probes meanwhile.",
    advice=(
        "See whether the cache server of that node answers (its page, its pod).",
        "Restart it; engines give up by themselves only after minutes.",
    ),
    unit="requests",
    hold_seconds=180,
    clear_seconds=120,
    inhibits=("hit_ratio_drop", "hit_ratio_drift", "hit_ratio_floor", "tier_drop", "ttft_burn", "l2_costs"),
)
NO_DATA = Rule(
    name="no_data",
    title="An endpoint tells nothing",
    severity=Severity.CRITICAL,
    meaning="No replica of this endpoint could be read for 5 minutes. That is no hit ratio of 0: nothing is known.",
    advice=(
        "`tierdeck targets` says how the last scrape of each target ended.",
        "If the pods are there and serve, the way to their metrics is broken (network policy, port, name).",
    ),
    unit="replicas",
    hold_seconds=300,
    clear_seconds=60,
    inhibits=(
        "hit_ratio_drop",
        "hit_ratio_drift",
        "hit_ratio_floor",
        "tier_drop",
        "ttft_burn",
        "requests_failing",
        "l2_costs",
        "requests_deferred",
    ),
)
DECK_STALE = Rule(
    name="deck_stale",
    title="Tierdeck itself sees nothing new",
    severity=Severity.CRITICAL,
    meaning="No new figures came into the store for 5 minutes: collectors are down or can't write. No other alert "
    "means anything until they do.",
    advice=("`tierdeck status` and the Admin view name the process and what troubles it.",),
    unit="seconds",
    hold_seconds=0,
    clear_seconds=60,
    inhibits=(
        "hit_ratio_drop",
        "hit_ratio_drift",
        "hit_ratio_floor",
        "tier_drop",
        "ttft_burn",
        "l2_outage",
        "requests_failing",
        "pool_full",
        "pool_filling",
        "l2_costs",
        "requests_deferred",
        "no_data",
    ),
    scope=Scope.CLUSTER,
)

RULES = (
    REQUESTS_FAILING,
    NO_DATA,
    REQUESTS_DEFERRED,
    POOL_FULL,
    L2_OUTAGE,
    TTFT_BURN,
    HIT_RATIO_DROP,
    HIT_RATIO_DRIFT,
    HIT_RATIO_FLOOR,
    TIER_DROP,
    POOL_FILLING,
    L2_COSTS,
    DECK_STALE,
)
BY_NAME = {rule.name: rule for rule in RULES}
