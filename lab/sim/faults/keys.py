"""Faults of keys: under which names replicas keep their chunks."""

from __future__ import annotations

from lab.sim.fault import BaseFault, FaultTarget
from lab.sim.fleet import Fleet
from tierdeck.errors import UsageError


class DifferingHashSeed(BaseFault):
    """PYTHONHASHSEED is not pinned: each replica computes keys of its own."""

    name = "hash-seed"
    seen = (
        "no replica finds what another stored: cross-replica hits are 0, L2's share falls, the same text is stored "
        "once per replica, and nothing is in error"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]
        endpoint.set_key_space(endpoint.spec.model, hash_seeds=True)

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]
        endpoint.set_key_space(endpoint.spec.model)


class SharedKeySpace(BaseFault):
    """Another endpoint's model is mounted under this one's path, and its users send the same texts."""

    name = "shared-key-space"
    seen = (
        "the next endpoint serves this one's texts from L2 from the first request on, though it never computed "
        "them: L2 hits without stores of its own, and answers made of another model's KV"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        names = list(fleet.endpoints)
        if len(names) < 2:
            raise UsageError("There is one endpoint only, and nobody to share keys with")
        number = names.index(target.endpoint)
        other = fleet.endpoints[names[(number + 1) % len(names)]]
        own = fleet.endpoints[target.endpoint]
        other.set_key_space(own.spec.model)
        own.mirror_to(other)

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        names = list(fleet.endpoints)
        other = fleet.endpoints[names[(names.index(target.endpoint) + 1) % len(names)]]
        other.set_key_space(other.spec.model)
        fleet.endpoints[target.endpoint].mirror_to(None)
