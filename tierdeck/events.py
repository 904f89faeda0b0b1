"""What happened to a fleet: events, each of which is stored once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """The kinds of event, with the word under which a chart marks them."""

    APPEARED = "appeared"
    GONE = "gone"
    ROLLOUT = "rollout"
    ROLLOUT_STUCK = "rollout_stuck"
    IMAGE_CHANGED = "image_changed"
    RESTART = "restart"
    OOM = "oom"
    CRASH_LOOP = "crash_loop"
    EVICTED = "evicted"
    UNSCHEDULABLE = "unschedulable"
    SCALED_OUT = "scaled_out"
    SCALED_IN = "scaled_in"
    ROUTING_CHANGED = "routing_changed"
    SIZE_CHANGED = "size_changed"
    DRIFT = "drift"
    DRIFT_OVER = "drift_over"
    L2_WITHHELD = "l2_withheld"
    NODE_GONE = "node_gone"
    NODE_REPLACED = "node_replaced"
    NODE_DRAINED = "node_drained"
    NODE_PRESSURE = "node_pressure"
    JANITOR = "janitor"
    CHANGE = "change"

    @property
    def label(self) -> str:
        """The word on a chart."""
        return self.value.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        endpoint: whose it is; `_pool` for a pool's; empty for one of the whole cluster, such as a node's.
        replica: the pod, or the pool's name; empty where it is about the endpoint as a whole.
        at: epoch seconds, as the cluster tells it; where it does not, when it was seen.
        subject: the object, such as `Deployment inference/chat`.
        words: one sentence.
        detail: what a program may want (`from`, `to`, `by`, …).
        key: the same for the same thing whoever sees it and however often; unique in a cluster.
    """

    cluster: str
    endpoint: str
    replica: str
    at: float
    kind: EventKind
    subject: str
    words: str
    key: str
    detail: Mapping[str, str] = field(default_factory=dict)
