"""How each fault and change of the lab is tried for the alert that it raises, or for the quiet that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lab.sim.endpoint import SimEndpoint
from lab.sim.scale import GIB
from lab.sim.spec import FleetSpec
from lab.sim.workloads import BY_NAME as WORKLOADS
from tests.integration.cause_fleet import AWARE, CHAT, SINGLE, SPEC, TENANTS
from tests.support.simulated_deck import SimulatedDeck
from tests.unit.lab_sim.scraping import EMBEDDED, MP
from tierdeck.alerts.conditions.ttft import Objective
from tierdeck.alerts.limits import AlertLimits, Limits
from tierdeck.routing import RoutingStrategy

Act = Callable[[SimulatedDeck], None]

INSIDE = FleetSpec((replace(CHAT, forms=(EMBEDDED, EMBEDDED, MP)),), (500 * GIB,) * 3)
"""LMCache inside vLLM tells of no stores: a pool that does not fill meanwhile."""
KVAWARE = FleetSpec((replace(CHAT, strategy=RoutingStrategy.KVAWARE),), (20 * GIB,) * 3)
TWO = FleetSpec((CHAT, replace(CHAT, name="code", model="another", requests_per_second=0.5)), (20 * GIB,) * 3)
PROMPT = AlertLimits(Limits(ttft=Objective(0.99, 8.0)))


@dataclass(frozen=True)
class Switch:
    """Something that is done, and undone."""

    on: Act
    off: Act


@dataclass(frozen=True)
class Case:
    """For how many minutes it is on, and for how many it is watched after."""

    switch: Switch
    minutes: int = 25
    after: int = 45
    spec: FleetSpec = SPEC
    limits: AlertLimits = field(default_factory=AlertLimits)


@dataclass(frozen=True)
class Peace:
    """What is tried one after the other on one fleet, each for some minutes and as many to settle."""

    switches: dict[str, Switch]
    spec: FleetSpec = SPEC
    minutes: int = 20
    after: int = 10


def fault(name: str, replica: str = "chat-0") -> Switch:
    return Switch(
        lambda deck: deck.switch(name, "chat", replica), lambda deck: deck.switch(name, "chat", replica, on=False)
    )


def _faults(*names: str, replica: str) -> dict[str, Switch]:
    return {name: fault(name, replica) for name in names}


def _routed(on: RoutingStrategy, off: RoutingStrategy) -> Switch:
    return Switch(lambda deck: _chat(deck).set_strategy(on), lambda deck: _chat(deck).set_strategy(off))


def _chat(deck: SimulatedDeck) -> SimEndpoint:
    return deck.fleet.endpoints["chat"]


def _scaled(count: int) -> Switch:
    return Switch(lambda deck: _chat(deck).scale(count), lambda deck: _chat(deck).scale(3))


def _told_and_not_done() -> Switch:
    """The router is told of a strategy, and goes on as before."""
    stuck, told = fault("strategy-not-effective"), _routed(RoutingStrategy.ROUNDROBIN, RoutingStrategy.PREFIXAWARE)

    def on(deck: SimulatedDeck) -> None:
        stuck.on(deck)
        told.on(deck)

    def off(deck: SimulatedDeck) -> None:
        told.off(deck)
        stuck.off(deck)

    return Switch(on, off)


RAISING: dict[str, Case] = {
    "worker-loss": Case(fault("worker-loss")),
    "l2-unreadable": Case(fault("l2-unreadable")),
    "l2-write-only": Case(fault("l2-write-only")),
    "l2-writes-lost": Case(fault("l2-writes-lost")),
    "fuse-hang": Case(fault("fuse-hang")),
    "full-pool": Case(fault("full-pool")),
    "workload-shift": Case(fault("workload-shift")),
    "eviction-storm": Case(fault("eviction-storm")),
    # Each replica fills its own tiers again: it is kept quiet as recovering until that comes to a halt.
    "hash-seed": Case(fault("hash-seed"), 50),
    "cache-server-gone": Case(fault("cache-server-gone"), 20),
    "cache-server-frozen": Case(fault("cache-server-frozen"), 30),
    "no-engine-metrics": Case(fault("no-engine-metrics"), 20, spec=SINGLE),
    "embedded-init-failed": Case(fault("embedded-init-failed"), 80, spec=INSIDE),
    "quota-conflict": Case(fault("quota-conflict"), spec=TENANTS),
    "ttft-off-scale": Case(fault("ttft-off-scale"), 45, limits=PROMPT),
    # A tier that others make up for is said after 20 minutes, and once it recovers no more.
    "l0-wiped": Case(fault("l0-wiped"), 40, spec=AWARE),
    "shared-key-space": Case(fault("shared-key-space"), 65, spec=TWO),
    "chat-not-routed": Case(fault("chat-not-routed"), 35, spec=KVAWARE),
    "strategy": Case(_routed(RoutingStrategy.ROUNDROBIN, RoutingStrategy.PREFIXAWARE), 35, spec=AWARE),
    "sizes of L0 and L1": Case(
        Switch(lambda deck: _chat(deck).resize(GIB, 2 * GIB), lambda deck: _chat(deck).resize(3 * GIB, 6 * GIB)),
        50,
        60,
        spec=AWARE,
    ),
    "sizes of L2": Case(
        Switch(lambda deck: deck.fleet.pool.resize(6 * GIB), lambda deck: deck.fleet.pool.resize(60 * GIB)),
        40,
    ),
    "traffic": Case(
        Switch(lambda deck: deck.fleet.play("chat", WORKLOADS["batch"]), lambda deck: deck.fleet.play_usual("chat"))
    ),
}

PEACEFUL: dict[str, Peace] = {
    "names, pages and versions": Peace(
        _faults(
            "metric-rename",
            "names-respelled",
            "both-names",
            "version-silent",
            "version-page",
            "cache-metrics-pushed",
            "master-stall",
            "fuse-metrics-error",
            "slow-scrape",
            replica="chat-1",
        ),
        minutes=15,
        after=5,
    ),
    "counts": Peace(
        _faults(
            "external-double-counted",
            "external-counted-twice",
            "counter-not-wired",
            "hits-not-updated",
            "ttft-undercounted",
            "hits-without-lookups",
            replica="chat-1",
        )
    ),
    "counts of the only replica": Peace(_faults("counter-not-wired", "hits-not-updated", replica="chat-0"), SINGLE),
    "processes": Peace(
        _faults(
            "preemptions",
            "coordinator-drift",
            "router-down",
            "eviction-crash",
            "replica-restart",
            "node-replaced",
            replica="chat-1",
        )
    ),
    "LMCache inside": Peace(_faults("retrieval-not-counted", "engine-upgraded", replica="chat-1"), INSIDE),
    "capacity": Peace({"replicas, more": _scaled(5), "replicas, fewer": _scaled(2)}, minutes=30, after=20),
    "a strategy that does nothing": Peace({"strategy-not-effective": _told_and_not_done()}, AWARE, 30, 30),
}
