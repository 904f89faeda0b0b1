"""The simulated fleet's past as a recording: the same pages, moment after moment, as lines of JSON.

The first line tells what comes: `{"recording", "start_at", "end_at", "fleet"}`, where `fleet` is a deck's
configuration file (docs/config.md). Each other line is what one replica's targets answered at a moment:
`{"at", "owner", "replica", "bodies": {target: text}}`; a target that did not answer is missing. Instants
are epoch seconds; `owner` is an endpoint, or a pool with the replica `_fleet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.sim.day import plan
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.inventory import sim_config, url_path
from lab.sim.spec import FleetSpec

NAME = "simulated fleet"
WARM_UP_SECONDS = 600.0
"""Traffic before the first moment, so that the tiers are not cold."""

Line = dict[str, object]


@dataclass(frozen=True, slots=True)
class Stretch:
    """From when to when (epoch seconds), how often, and what it is called.

    `present`: from when the day's events are counted back; None: its end.
    """

    start_at: float
    end_at: float
    step_seconds: float = 60.0
    name: str = NAME
    present: float | None = None


def recording(
    make: Callable[[], FleetSpec], seed: int, stretch: Stretch, *, is_eventful: bool = True
) -> Iterator[Line]:
    """Simulate a stretch of the past; about 8 CPU seconds an hour for the small fleet.

    Args:
        is_eventful: with the events of `lab.sim.day`.
    """
    fleet = Fleet(make(), seed, stretch.start_at - WARM_UP_SECONDS)
    fleet.advance(WARM_UP_SECONDS)
    if is_eventful:
        plan(fleet, stretch.end_at if stretch.present is None else stretch.present)
    yield {
        "recording": stretch.name,
        "start_at": stretch.start_at,
        "end_at": stretch.end_at,
        "fleet": sim_config(fleet, lambda *names: f"http://simulated.invalid{url_path(*names)}"),
    }
    while True:
        yield from _moment(fleet)
        left = stretch.end_at - fleet.timeline.wall()
        if left <= 0:
            return
        fleet.advance(min(stretch.step_seconds, left))


def _moment(fleet: Fleet) -> Iterator[Line]:
    at = round(fleet.timeline.wall(), 3)
    bodies: dict[tuple[str, str], dict[str, str]] = {}
    for owner, replica, source in fleet.targets():
        own = bodies.setdefault((owner, replica), {})
        try:
            own[source] = fleet.body(owner, replica, source)
        except NoAnswerError:
            continue
    for (owner, replica), texts in bodies.items():
        yield {"at": at, "owner": owner, "replica": replica, "bodies": texts}
