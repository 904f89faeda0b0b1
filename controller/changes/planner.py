"""What a backend contributes to changes: how a wish becomes writes on its kind of objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from controller.objects import Objects, Raw
from controller.reading.scene import Scene
from tierdeck.changes.plan import Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.deployed import Deployed, ObjectRef


class Reader(Protocol):
    """Reads what is there now, past any cache."""

    def get(self, ref: ObjectRef) -> Raw | None:
        """One object whole, `managedFields` and all; None where there is none.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        ...

    def list(self, path: str) -> Sequence[Raw]:
        """The items of a collection at its API path (`/apis/policy/v1/namespaces/x/poddisruptionbudgets`).

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        ...

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        """An object's path at the API server, and its apiVersion.

        Raises:
            NotServedError: the server has no such kind.
        """
        ...


@dataclass(frozen=True, slots=True)
class Load:
    """What an endpoint carries now, from the store; None: not known.

    Attributes:
        running, waiting: requests of all replicas together.
        chat_seen_at: when chat completions were last seen, epoch seconds.
        chats, chats_since: chat completions that its engines have counted, more than none, and when the first of the
            engines that counted some started, epoch seconds; when the last one came is not known.
        chat_free_since: since when none of its engines has counted a chat: when the last of them started.
        request_seconds: how long the slowest of its requests take (the 99th percentile).
        block_tokens: tokens of one KV block of its engines.
        kv_bytes_per_token: of the whole model, all ranks together.
    """

    running: float | None = None
    waiting: float | None = None
    chat_seen_at: float | None = None
    request_seconds: float | None = None
    block_tokens: int | None = None
    kv_bytes_per_token: float | None = None
    chats: float | None = None
    chats_since: float | None = None
    chat_free_since: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One endpoint as it is now.

    Attributes:
        objects: of the cluster, as the watches keep them: for what surrounds the endpoint.
        deployed: the endpoint as its backend found it in them.
        reader: for the objects that are written, and for kinds that are not watched.
    """

    objects: Objects
    scene: Scene
    deployed: Deployed
    reader: Reader
    at: float
    load: Load = Load()


class Planner(Protocol):
    """One way of deploying; registered in `PLANNERS` (controller/changes/planners/)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The backends (`Deployed.backend`) whose endpoints it plans for."""
        ...

    def plan(self, look: Look, wish: Wish) -> Plan | tuple[Refusal, ...]:
        """The writes that do it; pure but for reading.

        What is there already as wished is refused with the code `nothing_to_do`.
        """
        ...
