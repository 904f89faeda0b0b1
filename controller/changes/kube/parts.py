"""What a Kubernetes changer is made of: its planners, its preflight, its probe, and where else it may write."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from controller.changes.changer import Verified
from controller.changes.planner import Load, Look, Planner
from controller.objects import Objects
from tierdeck.changes.plan import Plan, Refusal, Surface, Write
from tierdeck.changes.proof import Proof
from tierdeck.changes.wish import Wish


class Checked(Protocol):
    """What a preflight says."""

    @property
    def refusals(self) -> Sequence[Refusal]: ...

    @property
    def warnings(self) -> Sequence[str]: ...


class Elsewhere(Protocol):
    """Writes that go to something else than the API server, such as a coordinator's quota."""

    def preview(self, write: Write) -> str:
        """What would change, as a diff.

        Raises:
            DeniedError, DriftedError: as of a `Changer`.
        """
        ...

    def apply(self, write: Write) -> bool:
        """Write it, if it is not there yet; whether it was written now.

        Raises:
            DeniedError, DriftedError: as of a `Changer`.
        """
        ...

    def verify(self, write: Write) -> Verified:
        """Whether it is there."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a changer is made of, besides the API server.

    Attributes:
        objects: the cluster as the watches keep it.
        planners: by backend.
        preflight: what forbids a plan, or is to be known before.
        probe: which strategy the router of an endpoint follows, by behaviour.
        load: what an endpoint carries now.
        with_chats: that, with what its engines tell of chats now; only asked where a strategy needs to know.
        elsewhere: by where a write goes that is none of the API server's.
        impersonates: whether writes are made in the approver's name.
        by_hand: beginnings of field managers that write nothing back by themselves, besides those that are known.
        clock: epoch seconds.
    """

    objects: Callable[[], Objects]
    planners: Sequence[Planner]
    preflight: Callable[[Look, Plan, Wish], Checked]
    probe: Callable[[str, str], Proof]
    load: Callable[[str], Load] = field(default=lambda _endpoint: Load())
    elsewhere: Mapping[Surface, Elsewhere] = field(default_factory=dict)
    impersonates: bool = False
    by_hand: tuple[str, ...] = ()
    clock: Callable[[], float] = time.time
    with_chats: Callable[[str, Load], Load] = field(default=lambda _endpoint, load: load)
