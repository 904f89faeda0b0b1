"""The endpoints and pools of a cluster as it is watched, and the one of a name."""

from __future__ import annotations

from controller.backends import BACKENDS
from controller.inventory import Inventory
from controller.objects import Objects
from tierdeck.deployed import Deployed


def deployed_in(objects: Objects, at: float) -> tuple[Deployed, ...]:
    """
    Args:
        at: epoch seconds.
    """
    return Inventory(BACKENDS, (), ()).look(objects, (), at).sighting.deployed


def named(objects: Objects, name: str, at: float) -> Deployed | None:
    """The endpoint of that name; else the pool."""
    seen = deployed_in(objects, at)
    own = [one for one in seen if one.endpoint == name]
    return next(iter([*own, *(one for one in seen if one.is_pool and one.name == name)]), None)
