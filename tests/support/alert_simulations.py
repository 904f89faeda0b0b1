"""Ten simulated days with one fault, through `backtest`'s own path, and the fixed rule of the field beside it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.support.hit_series import (
    DAY_MINUTES,
    Endpoint,
    Fault,
    Row,
    csv_lines,
    refill,
    restart,
    rows,
    slide_down,
    step_down,
)
from tierdeck.alerts.backtest import backtest, read_minutes

# An alert of the fault may fire this long after its end: windows reach back.
_AFTER_MINUTES = 30
_FIXED_RATIO = 0.3
_FIXED_MINUTES = 15
# Noise of single requests: many hit all, some nothing.
_REQUEST_POINTS = 35.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated.

    Attributes:
        fault: made for each seed, at a time of its own; None: nothing happens.
        is_quiet: nothing is to be said, fault or not.
    """

    name: str
    endpoint: Endpoint = field(default_factory=Endpoint)
    fault: Callable[[random.Random], Fault] | None = None
    is_quiet: bool = False
    with_restarts: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one seed. Delays are minutes since the fault began; None: nothing was said of it."""

    delay: float | None
    false: int
    fixed_delay: float | None
    fixed_false: int


def any_minute(chance: random.Random) -> int:
    """From the third day on to the ninth, at any time of day."""
    return chance.randrange(2 * DAY_MINUTES, 9 * DAY_MINUTES)


def _healing(chance: random.Random) -> Fault:
    """A restart: what was lost comes back within the hour, in one of two ways."""
    at, points = any_minute(chance), chance.uniform(20.0, 50.0)
    if chance.random() < 0.5:
        return restart(at, points, chance.uniform(3.0, 8.0))
    return refill(at, points, round(chance.uniform(10.0, 30.0)))


BASE = Endpoint()
DROP_25 = Scenario("25-point drop", BASE, lambda chance: step_down(any_minute(chance), 25.0, 600))
DROP_12 = Scenario("12-point drop", BASE, lambda chance: step_down(any_minute(chance), 12.0, 600))
SLIDE = Scenario("30 points over 12 h", BASE, lambda chance: slide_down(any_minute(chance), 30.0, 720, 1200))
BLIP = Scenario("3-minute blip", BASE, lambda chance: step_down(any_minute(chance), 100.0, 3), is_quiet=True)
NOTHING = Scenario("no change", BASE, is_quiet=True)
IDLE = Scenario("nearly idle", Endpoint(requests=0.06, request_noise=_REQUEST_POINTS), is_quiet=True)
HEALS = Scenario("restart that heals", BASE, _healing, is_quiet=True, with_restarts=True)
HEALS_UNSEEN = Scenario("restart that heals, no column", BASE, _healing, is_quiet=True)
WEEK = Scenario("weekday / weekend", Endpoint(weekend=-12.0, weekend_swing=0.5), is_quiet=True)
ISSUE = (DROP_25, DROP_12, SLIDE, BLIP, NOTHING, IDLE, HEALS, HEALS_UNSEEN, WEEK)

# What others would simulate: other levels, waves in the noise, days that differ, little traffic, traffic with nights.
OTHERS = {
    "base 45 %": Endpoint(base=45.0),
    "base 92 %": Endpoint(base=92.0, swing=3.0),
    "noise in waves": Endpoint(kept=0.8),
    "days that differ": Endpoint(day_noise=1.5),
    "5 requests a minute": Endpoint(requests=5.0, tokens=6000.0),
    "3,000 requests a minute, quiet nights": Endpoint(
        requests=3000.0, quiet=0.05, tokens=800.0, request_noise=_REQUEST_POINTS
    ),
    "20 requests a minute, each its own": Endpoint(requests=20.0, noise=1.0, request_noise=_REQUEST_POINTS),
}


def outcome(scenario: Scenario, seed: int) -> Outcome:
    """The same for the same arguments."""
    chance = random.Random(f"{scenario.name} {seed}")
    fault = scenario.fault(chance) if scenario.fault else None
    made = list(rows(scenario.endpoint, seed, fault))
    began = made[0].at
    result = backtest(read_minutes(csv_lines(iter(made), with_restarts=scenario.with_restarts)))
    said = [((one.alert.fired_at or 0.0) - began) / 60.0 for one in result.fired if not one.suppressed_by]
    delay, false = _judged(said, fault)
    fixed_delay, fixed_false = _judged(list(_fixed(made)), fault)
    return Outcome(delay, false, fixed_delay, fixed_false)


def _judged(said: list[float], fault: Fault | None) -> tuple[float | None, int]:
    """(delay of the first alert of the fault, how many alerts were said of nothing)."""
    if fault is None:
        return None, len(said)
    delays = [at - fault.at_minute for at in said if 0 <= at - fault.at_minute <= fault.minutes + _AFTER_MINUTES]
    return min(delays, default=None), len(said) - len(delays)


def _fixed(made: list[Row]) -> Iterator[float]:
    """When "the hit rate is below 30 % for 15 minutes" fires; minutes without traffic have no hit rate."""
    since: int | None = None
    for minute, row in enumerate(made):
        if not row.prompt_tokens:
            continue
        if row.hit_tokens >= _FIXED_RATIO * row.prompt_tokens:
            since = None
        else:
            since = minute if since is None else since
            if minute - since == _FIXED_MINUTES:
                yield minute + 1.0
