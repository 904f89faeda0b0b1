"""What is asked to prove each strategy: requests for which it leaves no choice, and its rivals do."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from controller.probe.asker import MOST_REQUESTS, Asker
from tierdeck.routing import RoutingStrategy

Script = Callable[[Asker], Awaitable[None]]
_CROSSED = 3
"""Times that a longer beginning is put into another replica's cache: a strategy by texts and one by caches then go
different ways."""
_MOST_ALONE = 5
"""Beginnings that are tried until two replicas, or three, serve them."""
_MORE = ("and more", "and still more")
Prefix = tuple[str, ...]
Name = TypeVar("Name")


async def roundrobin(asker: Asker) -> None:
    """The same text and session again and again: what goes by either keeps to one replica.

    Some are long, so that one replica has more to do than the others: what goes to the least busy one passes it by.
    """
    count = len(asker.replicas)
    same = ("A",), "the same"
    await asker.ask(*same, is_long=True)
    if not asker.names_replicas:
        await _in_turn(asker)
        return
    await asker.burst(*same, [number % count == 0 for number in range(1, min(2 * count + 1, 7))])
    if not asker.is_clear():
        await asker.burst(*same, [False] * MOST_REQUESTS)


async def _in_turn(asker: Asker) -> None:
    while asker.left > 0 and not asker.is_clear():
        await asker.ask(("A",), "the same")


async def session(asker: Asker) -> None:
    """Sessions that come back with texts of which no two begin alike."""
    homes: dict[str, str] = {}
    while asker.left > 0 and not asker.is_clear():
        is_new = len(set(homes.values())) < 2
        name = f"session {len(homes)}" if is_new else _least_served(asker, homes)
        for _ in range(1 if is_new and homes else 2):  # twice in a row, unlike those who take turns
            landing = await asker.ask((), name)
            if landing is not None and landing.replica:
                homes.setdefault(name, landing.replica)


async def prefixaware(asker: Asker) -> None:
    """Beginnings that come back; then longer ones, which another replica's cache holds and the router never sent.

    What is new goes to the least busy replica of many a router: long requests make it another one.
    """
    homes: dict[Prefix, str] = {}
    wanted = min(len(asker.replicas), _CROSSED)
    most = _MOST_ALONE if wanted > 2 else _CROSSED
    while len(homes) < most and len(set(homes.values())) < wanted and asker.left > 0:
        new = (f"beginning {asker.asked}",)
        landing = await asker.ask(new, is_long=asker.names_replicas)
        if landing is None or not landing.replica:
            return
        homes[new] = landing.replica
        await asker.ask(new)
    if asker.is_clear():
        return
    homes = {prefix: home for home, prefix in {home: prefix for prefix, home in homes.items()}.items()}
    for turn in range(_CROSSED):
        prefix = list(homes)[turn % len(homes)]
        await _cross(asker, homes, {prefix: _other(asker, homes[prefix], turn)}, stays=True)
    await _again(asker, homes)


async def kvaware(asker: Asker) -> None:
    """Beginnings that the router never sent, and that one replica's cache holds; then longer ones on another one."""
    names = asker.replicas[:3]  # the busiest would pass requests on
    homes: dict[Prefix, str] = {}
    for _ in range(2):
        first = {(f"beginning {asker.asked} {turn}",): names[turn % len(names)] for turn in range(_CROSSED)}
        await asker.seed_all(list(first.items()))
        for prefix in first:
            await asker.ask(prefix)
        if asker.is_clear():
            return
        homes.update(first)
        then = {prefix: names[(turn + 1) % len(names)] for turn, prefix in enumerate(first)}
        await _cross(asker, homes, then, stays=False)
        await _again(asker, homes)


async def _cross(asker: Asker, homes: dict[Prefix, str], elsewhere: Mapping[Prefix, str], *, stays: bool) -> None:
    """Put longer beginnings into other replicas' caches, and ask for them.

    Args:
        homes: where each beginning should go; the longer ones take the place of theirs.
        stays: the longer one should go where the shorter one goes; else to where it was put.
    """
    longer = {prefix: (*prefix, _MORE[len(prefix) - 1]) for prefix in elsewhere}
    await asker.seed_all([(longer[prefix], replica) for prefix, replica in elsewhere.items()])
    for prefix, replica in elsewhere.items():
        home = homes.pop(prefix)
        homes[longer[prefix]] = home if stays else replica
        await asker.ask(longer[prefix])


async def _again(asker: Asker, homes: Mapping[Prefix, str]) -> None:
    """The same beginnings again and again, of those first whose replica was served least."""
    while asker.left > 0 and not asker.is_clear():
        bound = {prefix: home for prefix, home in homes.items() if asker.is_bound(prefix)}
        if not bound:
            return
        prefix = _least_served(asker, bound)
        for _ in range(2):
            if not asker.is_clear() and asker.is_bound(prefix):
                await asker.ask(prefix)


def _least_served(asker: Asker, homes: Mapping[Name, str]) -> Name:
    landed = asker.landed()
    least = min(landed[home] for home in homes.values())
    return random.choice([name for name, home in homes.items() if landed[home] == least])  # noqa: S311  # no secret


def _other(asker: Asker, home: str, turn: int) -> str:
    others = [name for name in asker.replicas if name != home]
    return others[turn % len(others)]


SCRIPTS: Mapping[RoutingStrategy, Script] = {
    RoutingStrategy.ROUNDROBIN: roundrobin,
    RoutingStrategy.SESSION: session,
    RoutingStrategy.PREFIXAWARE: prefixaware,
    RoutingStrategy.KVAWARE: kvaware,
}
