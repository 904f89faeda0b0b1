"""How an event is made: whose it is, when it was seen, and the parts that every event has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tierdeck.deployed import Deployed
from tierdeck.events import Event, EventKind


@dataclass(frozen=True, slots=True)
class Telling:
    """Makes the events of one endpoint or pool, seen at `at`.

    Attributes:
        subject: the object that they are about; empty: the endpoint's source.
        replica: the pod that they are about; empty: the endpoint as a whole.
    """

    deployed: Deployed
    at: float
    subject: str = ""
    replica: str = ""

    def about(self, subject: object, replica: str = "") -> Telling:
        """The same, of another object."""
        return replace(self, subject=str(subject), replica=replica)

    def event(
        self,
        kind: EventKind,
        words: str,
        key: str,
        detail: Mapping[str, str] | None = None,
        at: float | None = None,
    ) -> Event:
        """An event of now, where no other time is given.

        Args:
            key: of the thing; whose event it is becomes part of it, since endpoints share routers and nodes.
        """
        one = self.deployed
        return Event(
            cluster=one.cluster,
            endpoint=one.endpoint,
            replica=one.name if one.is_pool else self.replica,
            at=self.at if at is None else at,
            kind=kind,
            subject=self.subject or str(one.source),
            words=words,
            key="/".join(filter(None, (key, *one.key[1:]))),
            detail=detail or {},
        )

    def now_key(self, *parts: str) -> str:
        """A key for what the cluster does not count: the moment is part of it."""
        return "/".join((*parts, f"{self.at:.3f}"))
