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
from controller.injector.decision import Undecided, Withheld
from controller.reading.fields import text
from controller.reading.lineage import Found
from controller.reading.origin import Origin
from controller.resources import RESOURCES
from db import Store
from health.pulse import Pulse
from tierdeck.deployed import ObjectRef
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
Trace = Callable[[Undecided], Withheld | None]
"""Finds out whose pod it was, in the teller's own time; None: there is nobody to tell."""
_RESOURCES = {resource.kind: resource for resource in RESOURCES}
_TRIES = 3


class Teller:
    """Takes what was withheld at once, and says it in its own thread."""

    def __init__(
        self, api: Api, store: Store, cluster: str, trace: Trace, clock: Callable[[], float] = time.time
    ) -> None:
        self._api = api
        self._store = store
        self._cluster = cluster
        self._clock = clock
        self._said: dict[str, float] = {}
        self._trace = trace
        self._lock = threading.Lock()
        self._waiting: queue.Queue[tuple[Withheld | Undecided, float]] = queue.Queue(_MOST_WAITING)
        self.trouble = ""

    def tell(self, what: Withheld | Undecided) -> None:
        """Returns at once; the same is said once per ten minutes."""
        now = self._clock()
        if not self._is_new(_untraced(what) if isinstance(what, Undecided) else key_of(what, now), now):
            return
        try:
            self._waiting.put_nowait((what, now))
        except queue.Full:
            log.warning("event_dropped", reason=what.reason)

    def _is_new(self, key: str, now: float) -> bool:
        with self._lock:  # reviews come in many threads
            self._said = {one: at for one, at in self._said.items() if now - at < AGAIN_SECONDS}
            is_new = key not in self._said
            self._said.setdefault(key, now)
            return is_new

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop, and nothing waits."""
        while not stop.is_set() or not self._waiting.empty():
            pulse.beat("telling")
            try:
                what, at = self._waiting.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                continue
            withheld = self._traced(what) if isinstance(what, Undecided) else what
            if withheld is None:
                continue
            log.info("l2_withheld", pod=str(withheld.origin.pod[0]), reason=withheld.reason)
            told = [self._try(partial(act, withheld, at)) for act in (self._in_cluster, self._in_store)]
            self.trouble = next(filter(None, told), "")

    def _traced(self, lost: Undecided) -> Withheld | None:
        """Where that can't be found out still, it is said of the pod itself."""
        try:
            return self._trace(lost)
        except TierdeckError as error:
            log.warning("trace_failed", reason=error.line())
        except Exception:  # the fault that kept the review from being decided may be met here once more
            log.exception("trace_failed")
        return Withheld(Origin((ObjectRef("Pod", lost.namespace, _name(lost)), lost.pod)), lost.reason)

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


def _untraced(lost: Undecided) -> str:
    """The same for all pods of one workload's revision."""
    return f"undecided/{lost.namespace}/{_name(lost)}/{_gist(lost.reason)}"


def _name(lost: Undecided) -> str:
    return text(lost.pod, "metadata", "name") or f"{text(lost.pod, 'metadata', 'generateName')}…"


def key_of(withheld: Withheld, at: float) -> str:
    """The same for both replicas of the injector, within ten minutes."""
    about = (owner_of(withheld) or withheld.origin.pod)[0]
    return f"l2-withheld/{about}/{_gist(withheld.reason)}/{int(at // AGAIN_SECONDS)}"


def _gist(reason: str) -> str:
    """Seconds differ each time."""
    return hashlib.sha256(re.sub(r"\d+", "0", reason).encode()).hexdigest()[:16]


def event_of(cluster: str, withheld: Withheld, at: float) -> Event:
    """As the deck shows it."""
    ref = withheld.origin.endpoint
    about = (owner_of(withheld) or withheld.origin.pod)[0]
    words = f"L2 was not injected: {withheld.reason}"
    detail = {"reason": withheld.reason}
    endpoint = f"{ref.namespace}/{ref.name}"
    return Event(cluster, endpoint, "", at, EventKind.L2_WITHHELD, str(about), words, key_of(withheld, at), detail)
