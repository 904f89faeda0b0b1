"""What happened to the simulated fleet on its last day: a few events, so that its charts have something to tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lab.sim.endpoint import SimEndpoint
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from lab.sim.fleet import Fleet
from tierdeck.routing import RoutingStrategy

Action = Callable[[Fleet], None]


def _strategy(strategy: RoutingStrategy) -> Action:
    def act(fleet: Fleet) -> None:
        _first(fleet).set_strategy(strategy)

    return act


def _fault(name: str, *, on: bool, replica: int = 0) -> Action:
    def act(fleet: Fleet) -> None:
        endpoint = _first(fleet)
        chosen = endpoint.replicas[min(replica, len(endpoint.replicas) - 1)]
        fleet.switch(BY_NAME[name], FaultTarget(endpoint.spec.name, chosen.name), on=on)

    return act


def _back(fleet: Fleet) -> None:
    endpoint = _first(fleet)
    endpoint.set_strategy(endpoint.spec.strategy)


def _first(fleet: Fleet) -> SimEndpoint:
    return next(iter(fleet.endpoints.values()))


EVENTS: tuple[tuple[float, Action], ...] = (
    (20.0, _fault("worker-loss", on=True)),
    (19.0, _fault("worker-loss", on=False)),
    (15.0, _strategy(RoutingStrategy.PREFIXAWARE)),
    (12.0, _back),
    (8.0, _fault("l2-writes-lost", on=True)),
    (7.25, _fault("l2-writes-lost", on=False)),
    (4.0, _fault("replica-restart", on=True, replica=1)),
    (3.9, _fault("replica-restart", on=False, replica=1)),
)
"""(hours before the present, what happens); the day ends as the fleet is by default."""


def plan(fleet: Fleet, end_at: float) -> None:
    """Plan the events that fall into the time from the fleet's now to `end_at` (epoch seconds)."""
    for hours, act in EVENTS:
        seconds = end_at - hours * 3600 - fleet.timeline.wall()
        if seconds >= 0:
            fleet.timeline.after(seconds * fleet.timeline.speed, partial(act, fleet))
