"""What is asked to prove each strategy: requests for which it leaves no choice, and its rivals do."""

from __future__ import annotations

import random
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from controller.probe.asker import MOST_REQUESTS, Asker
from tierdeck.routing import RoutingStrategy

Script = Callable[[Asker], Awaitable[None]]
_MOST_ALONE = 4
"""Beginnings that are tried until two replicas serve them."""
_CROWD = 3
"""Requests at once that make a replica busier than a router likes, where it is told to look at the load early.
vllm-router's cache_aware sends all that is new to one replica until then; by default from 64 on, which no probe sends.
"""
_LONGER = 500
"""Tokens of an answer that outlasts the next two requests also on a quick engine; with its prompt below 1,024."""
_SHORTER = 40
"""Tokens of an answer that keeps a replica busy for about a second."""
Prefix = tuple[str, ...]
Name = TypeVar("Name")


async def roundrobin(asker: Asker) -> None:
    """The same text and session again and again: what goes by either keeps to one replica.

    Some are long, so that one replica has more to do than the others: what goes to the least busy one passes it by.
    """
    count = len(asker.replicas)
    same = ("A",), "the same"
    await asker.connect(MOST_REQUESTS)
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
        # names that have nothing in common: routers hash those that are alike to one replica
        name = uuid.uuid4().hex if is_new else _least_served(asker, homes)
        for _ in range(1 if is_new and homes else 2):  # twice in a row, unlike those who take turns
            landing = await asker.ask((), name)
            if landing is not None and landing.replica:
                homes.setdefault(name, landing.replica)


async def prefixaware(asker: Asker) -> None:
    """Beginnings that come back; then longer ones, which another replica's cache holds and the router never sent.

    What is new goes to the least busy replica of many a router: requests of some length make it another one.
    """
    homes: dict[Prefix, str] = {}
    await _begin(asker, homes)
    if homes and not asker.names_replicas:
        asker.long_tokens = _LONGER
        await asker.crowd(next(iter(homes)), _CROWD)
        await _begin(asker, homes)
        await asker.let_go()
    asker.long_tokens = _SHORTER
    while len(homes) < _MOST_ALONE and len(set(homes.values())) < 2 and asker.left > 0:
        await _begin(asker, homes, is_long=asker.names_replicas)
    homes = {prefix: home for home, prefix in {home: prefix for prefix, home in homes.items()}.items()}
    if asker.is_clear():
        return
    crossed = await _crossed(asker, homes, stays=True)
    while asker.left > 0 and not asker.is_clear():
        if _strayed(asker, crossed):  # a cache decides, it seems: once more
            homes = {}
            await _begin(asker, homes)
            crossed = await _crossed(asker, homes, stays=True)
        elif not await _again(asker, crossed):
            await _begin(asker, {})


async def _begin(asker: Asker, homes: dict[Prefix, str], *, is_long: bool = False) -> None:
    """A beginning that is new, twice; the second time it should go where it went the first time."""
    new = (f"beginning {asker.asked}",)
    landing = await asker.ask(new, is_long=is_long)
    if landing is not None and landing.replica:
        homes[new] = landing.replica
    await asker.ask(new, is_long=is_long)


async def kvaware(asker: Asker) -> None:
    """Beginnings that the router never sent, and that one replica's cache holds; then longer ones on another one."""
    while asker.left > 0 and not asker.is_clear():
        homes: dict[Prefix, str] = {
            (f"beginning {asker.asked} {turn}",): name for turn, name in enumerate(asker.idle[:3])
        }
        await asker.seed_all(list(homes.items()))
        for prefix in homes:
            await asker.ask(prefix)
        if not asker.is_clear():
            await _again(asker, await _crossed(asker, homes, stays=False))


async def _crossed(asker: Asker, homes: Mapping[Prefix, str], *, stays: bool) -> dict[Prefix, str]:
    """Put longer beginnings into other replicas' caches, and ask for them: a strategy by texts and one by caches then
    go different ways.

    Args:
        homes: where each beginning goes.
        stays: the longer one should go where the shorter one goes; else to where it was put.

    Returns:
        Where each longer one should go.
    """
    elsewhere = {(*prefix, "and more"): _next(asker.idle, home) for prefix, home in homes.items()}
    await asker.seed_all(list(elsewhere.items()))
    for prefix in elsewhere:
        await asker.ask(prefix)
    return {prefix: homes[prefix[:-1]] if stays else replica for prefix, replica in elsewhere.items()}


async def _again(asker: Asker, homes: Mapping[Prefix, str]) -> bool:
    """The same beginnings again and again, of those first whose replica was served least.

    Returns:
        Whether any was asked: once several replicas have a beginning, it tells no more.
    """
    is_asked = False
    while asker.left > 0 and not asker.is_clear():
        bound = {prefix: home for prefix, home in homes.items() if asker.is_bound(prefix)}
        if not bound:
            return is_asked
        prefix = _least_served(asker, bound)
        for _ in range(2):
            if not asker.is_clear() and asker.is_bound(prefix):
                await asker.ask(prefix)
                is_asked = True
    return is_asked


def _least_served(asker: Asker, homes: Mapping[Name, str]) -> Name:
    landed = asker.landed()
    least = min(landed[home] for home in homes.values())
    return random.choice([name for name, home in homes.items() if landed[home] == least])  # noqa: S311  # no secret


def _strayed(asker: Asker, homes: Mapping[Prefix, str]) -> bool:
    """Whether any did not go where it should."""
    return any(one.prefix in homes and one.replica != homes[one.prefix] for one in asker.landings if not one.is_direct)


def _next(replicas: Sequence[str], home: str) -> str:
    """Another one, so that each replica gets as many."""
    return replicas[(replicas.index(home) + 1) % len(replicas)] if home in replicas else replicas[0]


SCRIPTS: Mapping[RoutingStrategy, Script] = {
    RoutingStrategy.ROUNDROBIN: roundrobin,
    RoutingStrategy.SESSION: session,
    RoutingStrategy.PREFIXAWARE: prefixaware,
    RoutingStrategy.KVAWARE: kvaware,
}
