"""The simulated fleet that causes are looked for in, and what is done to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from alerting.circumstances import circumstances
from db import Store
from lab.sim.endpoint import SimEndpoint
from lab.sim.fleet import Fleet
from lab.sim.scale import GIB
from lab.sim.spec import FleetSpec
from tests.support.simulated_deck import CLUSTER, SimulatedDeck
from tests.unit.lab_sim.scraping import BEGAN_AT, ENDPOINT, MP
from tierdeck.alerts.alert import Alert, AlertState, FoundCause, Severity, Subject
from tierdeck.alerts.causes import find_causes
from tierdeck.alerts.circumstances import Circumstances
from tierdeck.routing import RoutingStrategy

CHAT = replace(ENDPOINT, forms=(MP, MP, MP), requests_per_second=1.2, l0_bytes=3 * GIB, l1_bytes=6 * GIB)
SPEC = FleetSpec((CHAT,), (20 * GIB,) * 3)
SINGLE = FleetSpec((replace(CHAT, forms=(MP,), requests_per_second=0.4),), (20 * GIB,) * 3)
AWARE = FleetSpec((replace(CHAT, strategy=RoutingStrategy.PREFIXAWARE),), (20 * GIB,) * 3)
TENANTS = FleetSpec((replace(CHAT, tenants=(("gold", 0.6), ("iron", 0.4))),), (20 * GIB,) * 3)
SCARCE = FleetSpec((replace(CHAT, workload="rag", l1_bytes=20 * GIB),), (1 * GIB,) * 3)
WARM_UP_SECONDS, BEFORE_SECONDS, AFTER_SECONDS, ALERT_SECONDS = 900.0, 1200.0, 600.0, 420.0
SOON_SECONDS = 300.0

Act = Callable[[SimulatedDeck], None]


@dataclass(frozen=True)
class Scenario:
    """`act` is done after half an hour; an alert of `rule` begins minutes later.

    `expected` is the first cause, of `replica`, whose words have `says` in them.
    """

    expected: str
    act: Act
    rule: str = "hit_ratio_drop"
    part: str = ""
    spec: FleetSpec = SPEC
    replica: str = ""
    says: str = ""
    after_seconds: float = AFTER_SECONDS


def fault(*names: str, replica: str = "") -> Act:
    def act(deck: SimulatedDeck) -> None:
        for name in names:
            deck.switch(name, "chat", replica)

    return act


def _chat(deck: SimulatedDeck) -> SimEndpoint:
    return deck.fleet.endpoints["chat"]


def _cannot_be_read(deck: SimulatedDeck) -> None:
    """No replica's page has vLLM's series: one fault at a time has one place, so the fleet has one replica."""
    deck.switch("no-engine-metrics", "chat")


def _of_one(cause: str, name: str, says: str = "", rule: str = "hit_ratio_drop", part: str = "") -> Scenario:
    """A fault of the second replica."""
    return Scenario(cause, fault(name, replica="chat-1"), rule, part, replica="chat-1", says=says)


SCENARIOS = {
    "replica-restart": Scenario(
        "restart",
        fault("replica-restart", replica="chat-1"),
        spec=SCARCE,
        replica="chat-1",
        says="replica chat-1, restarted ",
        after_seconds=SOON_SECONDS,
    ),
    "node-replaced": Scenario(
        "capacity",
        fault("node-replaced"),
        spec=SCARCE,
        says="chat-3 took the place of chat-0",
        after_seconds=SOON_SECONDS,
    ),
    "scale-out": Scenario(
        "capacity",
        lambda deck: _chat(deck).scale(5),
        spec=SCARCE,
        says="chat-3 and chat-4 came and began cold",
        after_seconds=SOON_SECONDS,
    ),
    "scale-in": Scenario("capacity", lambda deck: _chat(deck).scale(2), "ttft_burn", says="chat-2 went"),
    "sizes": Scenario(
        "resized", lambda deck: _chat(deck).resize(GIB, 2 * GIB), spec=SCARCE, says="L0 of chat-0 went from"
    ),
    "pool-size": Scenario("resized", lambda deck: deck.fleet.pool.resize(6 * GIB), says="L2 (pool curvine) went from"),
    "worker-loss": Scenario("l2_outage", fault("worker-loss"), says="2 of 3 workers of curvine are live"),
    "l2-unreadable": Scenario("l2_outage", fault("l2-unreadable"), says="can't load"),
    "l2-write-only": Scenario("l2_outage", fault("l2-write-only"), says="it is asked and finds nothing"),
    "fuse-hang": Scenario("l2_outage", fault("fuse-hang"), says="writes are submitted and don't complete"),
    "l2-writes-lost": Scenario("l2_outage", fault("l2-writes-lost"), says="writes are submitted and don't complete"),
    "l2-writes-lost, told at once": Scenario(
        "l2_outage", fault("l2-writes-lost"), "l2_outage", after_seconds=SOON_SECONDS
    ),
    "full-pool": Scenario("l2_outage", fault("full-pool"), says="has no room left"),
    "cache-server-frozen": _of_one("cache_server", "cache-server-frozen", "loads nothing from below L0"),
    "cache-server-gone": _of_one(
        "cache_server", "cache-server-gone", "the cache server of chat-1", "requests_deferred"
    ),
    "l0-wiped": _of_one("l0_wiped", "l0-wiped", "L0 of chat-1 lost what it held", "tier_drop", "L0"),
    "workload-shift": Scenario("workload_shift", fault("workload-shift"), says="prompts are longer"),
    "eviction-storm": Scenario("eviction_storm", fault("eviction-storm"), says="their content went"),
    # keys that changed in running engines look like evictions in tiers that are full, and the words say so
    "hash-seed": Scenario("key_mismatch", fault("hash-seed"), says="which looks the same here"),
    "quota-conflict": Scenario("quota", fault("quota-conflict"), spec=TENANTS, says="tenant iron"),
    # without salts the same deletions can't be told from any others
    "quota-conflict without tenants": Scenario("eviction_storm", fault("quota-conflict")),
    "strategy": Scenario(
        "routing_change",
        lambda deck: _chat(deck).set_strategy(RoutingStrategy.ROUNDROBIN),
        "tier_drop",
        "L0",
        AWARE,
        says="no change of routing was told",
    ),
    "no-engine-metrics": _of_one("metrics_lost", "no-engine-metrics", "answers without vLLM's series"),
    "no-engine-metrics of all": Scenario(
        "metrics_lost", _cannot_be_read, "no_data", spec=SINGLE, says="1 of 1 replicas"
    ),
    "counter-not-wired": _of_one("metrics_lost", "counter-not-wired", "tells no hit ratio"),
    "hits-not-updated": _of_one("metrics_lost", "hits-not-updated", "prefix cache hits stay 0"),
    "nothing": Scenario("unknown", lambda deck: None),
}


def build(scenario: Scenario, store: Store) -> tuple[Circumstances, tuple[FoundCause, ...]]:
    """What the store tells, and the causes found in it."""
    fleet = Fleet(scenario.spec, 1, BEGAN_AT)
    fleet.advance(WARM_UP_SECONDS)
    deck = SimulatedDeck(fleet, store)
    deck.run(BEFORE_SECONDS)
    began_at = deck.now
    scenario.act(deck)
    deck.run(scenario.after_seconds)
    pending_at = began_at + min(ALERT_SECONDS, scenario.after_seconds - 60)
    subject = Subject(CLUSTER, "chat", scenario.part)
    alert = Alert(scenario.rule, subject, AlertState.FIRING, Severity.WARNING, pending_at)
    seen = circumstances(store, alert, deck.now, stale_after_seconds=180.0)
    return seen, find_causes(seen)
