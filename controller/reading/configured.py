"""Configurations: what one engine states, and what several agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from controller.reading.lmcache import uses_server
from controller.reading.processes import Process, Spec, is_server
from controller.reading.sizes import l0_of, l1_of, server_l1
from controller.reading.storage import Storage
from tierdeck.deployed import Component, Configuration, Stated, StatedSize

NOTHING_RUNS = "no pod runs"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The three tiers of one engine."""

    l0: StatedSize
    l1: StatedSize
    l2: StatedSize

    def with_strategy(self, strategy: Stated) -> Configuration:
        return Configuration(strategy, self.l0, self.l1, self.l2)


@dataclass(frozen=True, slots=True)
class Server:
    """An LMCache server that an engine uses; a shared one serves all engines of a node."""

    process: Process
    is_shared: bool = False


def own_server(spec: Spec) -> Server | None:
    """The one in the same pod."""
    found = [one for one in spec.processes if one.component is Component.LMCACHE and is_server(one.command)]
    return Server(found[0]) if found else None


def sizes_of(engine: Process, storage: Storage, server: Server | None, *, needs_connector: bool = True) -> Sizes:
    """What an engine's container, and the server that it uses, state."""
    if server is not None and uses_server(engine):
        l1 = server_l1(server.process, is_shared=server.is_shared)
        return Sizes(l0_of(engine), l1, storage.l2_of(engine, server.process))
    l1 = l1_of(engine, needs_connector=needs_connector)
    return Sizes(l0_of(engine), l1, storage.l2_of(engine))


def unknown_sizes(reason: str) -> Sizes:
    nothing = StatedSize.unknown(reason)
    return Sizes(nothing, nothing, nothing)


def agreed(found: Sequence[Sizes], whose: str = "running pods") -> Sizes:
    """What all of them state; unknown where none is there, or where they differ."""
    if not found:
        return unknown_sizes(NOTHING_RUNS)
    return Sizes(
        _one([each.l0 for each in found], whose),
        _one([each.l1 for each in found], whose),
        _one([each.l2 for each in found], whose),
    )


def agreed_strategy(found: Sequence[Stated]) -> Stated:
    """What all routers state."""
    if not found:
        return Stated.unknown("no router of it runs")
    words = Counter(one.value for one in found)
    if len(words) == 1:
        return found[0]
    return Stated.unknown(f"the running routers differ: {_counted(words)}")


def _one(found: Sequence[StatedSize], whose: str) -> StatedSize:
    words = Counter(one.text or one.said for one in found)
    if len({(one.said, one.text) for one in found}) == 1:
        return found[0]
    return StatedSize.unknown(f"the {whose} differ: {_counted(words)}")


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word or 'nothing that is known'} ({count})" for word, count in sorted(words.items()))
