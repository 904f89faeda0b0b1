"""What a cluster has of ours: the backends' findings, with what is remembered where it can't be seen now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from controller.api.rights import rule
from controller.backend import Backend, Found
from controller.objects import Objects
from controller.reading.nodes import nodes_of
from controller.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    NODES,
    PODS,
    RESOURCES,
    STATEFUL_SETS,
    Resource,
)
from tierdeck.deployed import Blind, Deployed, Node, ObjectRef, Sighting
from tierdeck.fleet import Endpoint, Replica
from tierdeck.tiers import Tier

_NEEDED = (PODS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS)
"""Where one of these can't be seen, an endpoint that is missing may still be there."""
_SOURCES = {resource.kind: resource for resource in RESOURCES}
_ORDER = ("strategy", *(tier.value for tier in Tier))
_GONE_NODES_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One look: for the store's memory, and what collectors scrape."""

    sighting: Sighting
    endpoints: tuple[Endpoint, ...]
    pools: tuple[Replica, ...]


class Inventory:
    """Looks again and again; remembers what takes time to be said, and what can't be seen any more."""

    def __init__(
        self,
        backends: Sequence[Backend],
        deployed: Iterable[Deployed],
        nodes: Iterable[Node],
        drift_seconds: float = 60.0,
    ) -> None:
        """
        Args:
            deployed, nodes: as the store remembers them.
            drift_seconds: how long what runs has to differ from what is configured until it is said: operators
                take a while to render.
        """
        self._backends = backends
        self._deployed = {one.key: one for one in deployed}
        self._observed: dict[tuple[str, str, str], Endpoint | Replica] = {}
        self._nodes = {node.name: node for node in nodes}
        self._drift_seconds = drift_seconds
        self._drift_since: dict[tuple[tuple[str, str, str], str, tuple[str, str]], float] = {}

    def remember(self, observed: Iterable[Endpoint | Replica]) -> None:
        """What was declared before, for endpoints that can't be seen at first."""
        for one in observed:
            self._observed[_key_of(one)] = one

    @property
    def is_waiting(self) -> bool:
        """Something is said only once it has lasted: look again, also where nothing changes."""
        return bool(self._drift_since) or any(node.gone_at is not None for node in self._nodes.values())

    def look(self, objects: Objects, unknown_kinds: tuple[str, ...], at: float) -> Seen:
        """What is there at `at`."""
        found = self._find(objects)
        kept = {key: one for key, one in self._deployed.items() if key not in found and _may_be_there(one, objects)}
        now = {key: self._drifting(one.deployed, at) for key, one in found.items()} | kept
        observed = {key: one.observed for key, one in found.items()}
        observed |= {key: self._observed[key] for key in kept if key in self._observed}
        for key, one in found.items():
            old = self._deployed.get(key)
            if old is not None and _is_taken_over(old, one.deployed, objects):
                now[key], observed[key] = old, self._observed.get(key, one.observed)
            if PODS in objects.blind and not one.deployed.pods and old is not None and old.pods:
                now[key], observed[key] = old, self._observed.get(key, one.observed)
        self._deployed, self._observed = now, observed
        self._nodes = _followed(self._nodes, nodes_of(objects), at, is_blind=NODES in objects.blind)
        sighting = Sighting(
            cluster=objects.cluster,
            at=at,
            deployed=tuple(now[key] for key in sorted(now)),
            nodes=tuple(self._nodes[name] for name in sorted(self._nodes)),
            blind=tuple(_blind(resource, reason) for resource, reason in objects.blind.items()),
            unknown_kinds=unknown_kinds,
        )
        things = [observed[key] for key in sorted(observed)]
        return Seen(
            sighting,
            tuple(one for one in things if isinstance(one, Endpoint)),
            tuple(one for one in things if isinstance(one, Replica)),
        )

    def _find(self, objects: Objects) -> dict[tuple[str, str, str], Found]:
        """By key; where two backends find the same name, the more particular one has it."""
        found: dict[tuple[str, str, str], Found] = {}
        taken: set[ObjectRef] = set()
        for backend in self._backends:
            some = backend.find(objects, taken)
            for one in some:
                found.setdefault(one.deployed.key, one)
            taken.update(ref for one in some for ref in one.claimed)
        return found

    def _drifting(self, one: Deployed, at: float) -> Deployed:
        """With what has differed long enough; a rollout under way, or a side that is not told, leaves what was said."""
        old = self._deployed.get(one.key)
        said = old.drifting if old is not None and old.source_uid == one.source_uid else ()
        if not one.is_settled:
            return replace(one, drifting=said)
        seen = one.drift()
        known = {
            (one.key, what, sides): self._drift_since.get((one.key, what, sides), at) for what, sides in seen.items()
        }
        self._drift_since = {key: since for key, since in self._drift_since.items() if key[0] != one.key} | known
        open_sides = {what for what in said if what not in one.comparable()}
        lasting = [what for what, sides in seen.items()
                   if what in said or at - known[one.key, what, sides] >= self._drift_seconds]  # fmt: skip
        return replace(one, drifting=tuple(what for what in _ORDER if what in (*lasting, *open_sides)))


def _key_of(one: Endpoint | Replica) -> tuple[str, str, str]:
    return (
        (one.cluster, one.name, "")
        if isinstance(one, Endpoint)
        else (one.key.cluster, one.key.endpoint, one.key.replica)
    )


def _may_be_there(one: Deployed, objects: Objects) -> bool:
    """Its absence may be for want of sight."""
    needed = {*_NEEDED, _SOURCES.get(one.source.kind, PODS)}
    return any(not objects.sees(resource) for resource in needed)


def _is_taken_over(old: Deployed, new: Deployed, objects: Objects) -> bool:
    """What an operator rendered is found in place of what it was rendered from, which can't be seen."""
    return old.source.kind != new.source.kind and not objects.sees(_SOURCES.get(old.source.kind, PODS))


def _blind(resource: Resource, reason: str) -> Blind:
    is_refused = "forbidden" in reason
    return Blind(resource.name, reason, rule(resource) if is_refused else "")


def _followed(before: Mapping[str, Node], seen: Iterable[Node], at: float, *, is_blind: bool) -> dict[str, Node]:
    """The nodes that are there, and those that went within the last hour, with what took their place."""
    now = {node.name: node for node in seen}
    if is_blind:
        return dict(before) | now
    joined = [node for name, node in sorted(now.items()) if name not in before]
    for name, old in sorted(before.items(), key=lambda item: item[1].gone_at or at):
        if name in now:
            continue
        gone_at = at if old.gone_at is None else old.gone_at
        if at - gone_at > _GONE_NODES_SECONDS:
            continue
        gone = replace(old, gone_at=gone_at)
        fits = [node for node in joined if node.group and node.group == gone.group]
        if fits and not gone.replaced_by:
            joined.remove(fits[0])
            gone = replace(gone, replaced_by=fits[0].name)
        now[name] = gone
    return now
