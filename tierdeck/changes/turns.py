"""Taking turns, seen through the traffic of others: every request of theirs that comes between moves the turn on.

How many came is not known, so that all paces of theirs are tried and averaged; nor is the order in which the router
goes through its replicas, so that all orders are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from tierdeck.changes.landing import Landing

_PACES = (0.0, 0.3, 1.0, 3.0, 8.0, 20.0)
"""Requests of others a second."""
_SLIPS = 0.01
"""Share of requests that fall out of turn: a retry, or two that overtake each other."""
_MOST_ORDERED = 4
"""Up to so many replicas all orders are tried; beyond, the order of first appearance, for what it is worth."""


def log_likelihood(requests: Sequence[Landing], replicas: Sequence[str], *, avoids_busy: bool = False) -> float:
    """Of where the requests landed.

    Args:
        requests: those that the router placed, in order.
        avoids_busy: the turn passes by replicas that have more of our requests outstanding than others: one that
            goes to the least busy, which takes turns where all are alike.
    """
    orders, log_weight = _orders(requests, replicas)
    found = [_one(requests, order, pace, avoids_busy) for order in orders for pace in _PACES]
    return log_mean(found) + log_weight


def log_mean(logs: Sequence[float]) -> float:
    most = max(logs)
    return most + math.log(sum(math.exp(one - most) for one in logs) / len(logs))


def _orders(requests: Sequence[Landing], replicas: Sequence[str]) -> tuple[list[tuple[str, ...]], float]:
    """Orders that are tried, and the logarithm of how likely it is that the right one is among them."""
    first, *rest = replicas
    if len(replicas) <= _MOST_ORDERED:
        return [(first, *order) for order in permutations(rest)], 0.0
    seen = dict.fromkeys(one.replica for one in requests if one.replica)
    return [tuple(dict.fromkeys([*seen, *replicas]))], -math.lgamma(len(replicas))


def _one(requests: Sequence[Landing], order: Sequence[str], pace: float, avoids_busy: bool) -> float:  # noqa: FBT001
    count = len(order)
    turn = [1 / count] * count
    at, total = None, 0.0
    for request in requests:
        turn = _moved(turn, 0.0 if at is None else pace * (request.at - at))
        at = request.at
        chances = turn
        if avoids_busy:
            free = set(_least_busy(request, requests, order))
            share = sum(chance for name, chance in zip(order, turn, strict=True) if name in free)
            chances = [
                (chance / share if share else 1 / len(free)) if name in free else 0.0
                for name, chance in zip(order, turn, strict=True)
            ]
        if request.replica in order:
            here = order.index(request.replica)
            total += math.log((1 - _SLIPS) * chances[here] + _SLIPS / count)
            turn = [float(index == here) for index in range(count)]
    return total


def _moved(turn: Sequence[float], others: float) -> list[float]:
    """One place on, and another one for each request of others that came between."""
    count = len(turn)
    steps = [0.0] * count
    for came, chance in enumerate(_poisson(others)):
        steps[(1 + came) % count] += chance
    return [sum(turn[(index - step) % count] * steps[step] for step in range(count)) for index in range(count)]


def _poisson(mean: float) -> Iterator[float]:
    chance = math.exp(-mean)
    for came in range(2 + int(mean + 6 * math.sqrt(mean))):
        yield chance
        chance *= mean / (came + 1)


def _least_busy(request: Landing, requests: Iterable[Landing], replicas: Sequence[str]) -> list[str]:
    """Replicas that have fewest of our requests outstanding when it is sent."""
    busy = dict.fromkeys(replicas, 0)
    for one in requests:
        if one.at < request.at < one.until and one.replica in busy:
            busy[one.replica] += 1
    least = min(busy.values())
    return [name for name, count in busy.items() if count == least]
