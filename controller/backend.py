"""What a deployment backend can do: find the endpoints that are deployed its way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from controller.objects import Objects
from tierdeck.deployed import Deployed, ObjectRef
from tierdeck.fleet import Endpoint, Replica


@dataclass(frozen=True, slots=True)
class Found:
    """One endpoint or pool, and where its metrics are.

    Attributes:
        observed: what collectors scrape: an Endpoint, or for a pool its Replica.
        claimed: the workloads that it is made of: no other backend takes them for its own.
    """

    deployed: Deployed
    observed: Endpoint | Replica
    claimed: tuple[ObjectRef, ...]


class Backend(Protocol):
    """One way of deploying; registered in `BACKENDS`, the most particular first."""

    @property
    def name(self) -> str:
        """As `endpoints` shows it: `hyperpod`."""
        ...

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Found]:
        """What is deployed this way, in the order of names.

        Args:
            taken: workloads that belong to what other backends have found.
        """
        ...
