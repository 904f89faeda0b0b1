"""Recorded hit ratios that never were: ten days of an endpoint by the minute, from a seed, with one fault in them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

DAY_MINUTES = 1440
# 2026-03-02, a Monday, 00:00 UTC
MONDAY = 1_772_409_600.0
HEADER = "at,endpoint,prompt_tokens,hit_tokens,requests"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens: `points` to add to the ratio, by minutes since it began; nothing before and after."""

    at_minute: int
    minutes: int
    points: Callable[[float], float]
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint that nobody troubles.

    Attributes:
        base, swing: of the ratio, in points; the swing is a sine over the day.
        noise: standard deviation from minute to minute, in points; `kept` of each goes on into the next (0: none).
        day_noise: of the level of whole days.
        request_noise: of single requests, in points; what a minute shows of it falls with its requests.
        weekend: points that Saturday and Sunday are above (below) the other days, from midnight on.
        requests: a minute at the mean of the day; `quiet` is the part of them at the day's lowest.
        tokens: of a request.
        first_day: 0 is a Monday.
    """

    base: float = 78.0
    swing: float = 6.0
    noise: float = 3.0
    kept: float = 0.0
    day_noise: float = 0.0
    request_noise: float = 0.0
    weekend: float = 0.0
    weekend_swing: float = 1.0
    requests: float = 120.0
    quiet: float = 1.0
    tokens: float = 2000.0
    first_day: int = 0
    days: int = 10


@dataclass(frozen=True, slots=True)
class Row:
    at: float
    prompt_tokens: int
    hit_tokens: int
    requests: int
    restarts: int = 0


def rows(endpoint: Endpoint, seed: int, fault: Fault | None = None) -> Iterator[Row]:
    """One a minute, the same for the same arguments."""
    chance = random.Random(seed)
    phase = chance.uniform(0.0, math.tau)
    wave = 0.0
    level = 0.0
    for minute in range(endpoint.days * DAY_MINUTES):
        if minute % DAY_MINUTES == 0:
            level = chance.gauss(0.0, endpoint.day_noise)
        angle = math.tau * minute / DAY_MINUTES
        wave = endpoint.kept * wave + math.sqrt(1 - endpoint.kept**2) * chance.gauss(0.0, endpoint.noise)
        is_weekend = (endpoint.first_day + minute // DAY_MINUTES) % 7 >= 5
        swing = endpoint.swing * (endpoint.weekend_swing if is_weekend else 1.0)
        points = endpoint.base + level + wave + swing * math.sin(angle + phase) + is_weekend * endpoint.weekend
        restarts = 0
        if fault is not None and 0 <= minute - fault.at_minute < fault.minutes:
            points += fault.points(float(minute - fault.at_minute))
            restarts = fault.restarts if minute == fault.at_minute else 0
        busy = endpoint.quiet + (1 - endpoint.quiet) * (0.5 - 0.5 * math.cos(angle))
        requests = _poisson(chance, endpoint.requests * busy / (0.5 + endpoint.quiet / 2))
        tokens = round(endpoint.tokens * _mean_length(chance, requests) * requests)
        if requests:
            points += chance.gauss(0.0, endpoint.request_noise) / math.sqrt(requests)
        hits = round(tokens * min(max(points, 0.0), 100.0) / 100.0)
        at = MONDAY + 86400.0 * endpoint.first_day + 60.0 * minute
        yield Row(at, tokens, hits, requests, restarts)


def csv_lines(made: Iterator[Row], name: str = "chat", *, with_restarts: bool = False) -> Iterator[str]:
    """Lines of a file for `backtest`."""
    yield HEADER + (",restarts" if with_restarts else "")
    for row in made:
        at = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = f"{at},{name},{row.prompt_tokens},{row.hit_tokens},{row.requests}"
        yield f"{line},{row.restarts}" if with_restarts else line


def step_down(at_minute: int, points: float, minutes: int) -> Fault:
    """At once, and as far for as long as it lasts."""
    return Fault(at_minute, minutes, lambda _: -points)


def slide_down(at_minute: int, points: float, over_minutes: int, minutes: int) -> Fault:
    """Evenly over `over_minutes`, and then as far for the rest of `minutes`."""
    return Fault(at_minute, minutes, lambda since: -points * min(since / over_minutes, 1.0))


def restart(at_minute: int, points: float, half_life: float) -> Fault:
    """Caches are cold at once, and what is missing halves every `half_life` minutes."""
    return Fault(at_minute, DAY_MINUTES, lambda since: -points * 0.5 ** (since / half_life), restarts=1)


def refill(at_minute: int, points: float, minutes: int) -> Fault:
    """Caches are cold at once, and fill evenly over `minutes`."""
    return Fault(at_minute, minutes, lambda since: -points * (1.0 - since / minutes), restarts=1)


def _poisson(chance: random.Random, mean: float) -> int:
    """Knuth's for small means; above 50 a normal distribution is near enough."""
    if mean > 50.0:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, count, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        count += 1
        product *= chance.random()
    return count


def _mean_length(chance: random.Random, requests: int) -> float:
    """Of so many lengths that are spread log-normally (sigma 0.8), in parts of their mean."""
    spread = math.sqrt((math.exp(0.64) - 1) / max(requests, 1))
    return max(0.1, chance.gauss(1.0, spread)) if requests > 10 else chance.lognormvariate(-0.32, 0.8)
