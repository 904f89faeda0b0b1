"""Says what was withheld: a Kubernetes event on the pod's owner, and one in the deck's store. Never at admission."""

from __future__ import annotations

import hashlib
import queue
import re
import threading
import time
from collections.abc import Callable
from functools import partial

import structlog

from controller.api.client import Api, Sent
from controller.injector.decision import Withheld
from controller.reading.fields import text
from controller.reading.lineage import Found
from controller.resources import RESOURCES
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.events import Event, EventKind

log = structlog.get_logger()

REASON = "L2NotInjected"
AGAIN_SECONDS = 600.0
"""The same reason of the same owner is said again after this: a Deployment's pods come by the dozen."""
_MOST_WAITING = 1000
_MOST_MESSAGE = 1000
"""Source: Kubernetes, core/v1 Event: a message has at most 1,024 bytes."""
_TICK_SECONDS = 1.0
_RESOURCES = {resource.kind: resource for resource in RESOURCES}
_TRIES = 3


class Teller:
    """Takes what was withheld at once, and says it in its own thread."""

    def __init__(self, api: Api, store: Store, cluster: str, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._said: dict[str, float] = {}
        self._waiting: queue.Queue[tuple[Withheld, float]] = queue.Queue(_MOST_WAITING)
        self.trouble = ""

    def tell(self, withheld: Withheld) -> None:
        """Returns at once; the same is said once per ten minutes."""
        now = self._clock()
        key = key_of(withheld, now)
        self._said = {one: at for one, at in self._said.items() if now - at < AGAIN_SECONDS}
        if key in self._said:
            return
        self._said[key] = now
        try:
            self._waiting.put_nowait((withheld, now))
        except queue.Full:
            log.warning("event_dropped", reason=withheld.reason)

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop, and nothing waits."""
        while not stop.is_set() or not self._waiting.empty():
            pulse.beat("telling")
            try:
                withheld, at = self._waiting.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                continue
            log.info("l2_withheld", pod=str(withheld.origin.pod[0]), reason=withheld.reason)
            told = [self._try(partial(act, withheld, at)) for act in (self._in_cluster, self._in_store)]
            self.trouble = next(filter(None, told), "")

    def _try(self, act: Callable[[], object]) -> str:
        """Why it could not be said; empty: it was."""
        trouble = ""
        for _ in range(_TRIES):
            try:
                act()
            except TierdeckError as error:
                trouble = f"an event could not be written: {error.line()}"
            else:
                return ""
        log.warning("telling_failed", reason=trouble)
        return trouble

    def _in_cluster(self, withheld: Withheld, at: float) -> None:
        about = owner_of(withheld)
        if about is None:
            return
        ref, raw = about
        resource = _RESOURCES[ref.kind]
        group = f"{resource.group}/" if resource.group else ""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{ref.name}-l2-", "namespace": ref.namespace},
            "involvedObject": {
                "apiVersion": f"{group}{resource.versions[0]}",
                "kind": ref.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": text(raw, "metadata", "uid"),
            },
            "reason": REASON,
            "message": f"L2 was not injected: {withheld.reason}"[:_MOST_MESSAGE],
            "type": "Warning",
            "source": {"component": "tierdeck-injector"},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }
        self._api.send(f"/api/v1/namespaces/{ref.namespace}/events", Sent("POST", event))

    def _in_store(self, withheld: Withheld, at: float) -> None:
        self._store.tell(self._cluster, [event_of(self._cluster, withheld, at)], at)


def owner_of(withheld: Withheld) -> Found | None:
    """What an event can be about: the pod is not there yet, so it is what it comes from."""
    origin = withheld.origin
    return origin.workload or origin.source


def key_of(withheld: Withheld, at: float) -> str:
    """The same for both replicas of the injector, within ten minutes."""
    about = (owner_of(withheld) or withheld.origin.pod)[0]
    said = hashlib.sha256(re.sub(r"\d+", "0", withheld.reason).encode()).hexdigest()[:16]  # seconds differ each time
    return f"l2-withheld/{about}/{said}/{int(at // AGAIN_SECONDS)}"


def event_of(cluster: str, withheld: Withheld, at: float) -> Event:
    """As the deck shows it."""
    ref = withheld.origin.endpoint
    about = (owner_of(withheld) or withheld.origin.pod)[0]
    words = f"L2 was not injected: {withheld.reason}"
    detail = {"reason": withheld.reason}
    endpoint = f"{ref.namespace}/{ref.name}"
    return Event(cluster, endpoint, "", at, EventKind.L2_WITHHELD, str(about), words, key_of(withheld, at), detail)
