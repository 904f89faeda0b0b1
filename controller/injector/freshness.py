"""Whether a pod is made from what its custom resource says now: else its weights may be others than those it names.

While a rollout runs, a pod of the old ReplicaSet that is made once more has the old weights; so has one that is made
after an edit which its operator has not taken up. With the new model's directory it would write the old weights' KV
there, for others to read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from controller.objects import Raw
from controller.reading.fields import labels, mapping, text, whole
from controller.reading.origin import Lookup, Origin
from controller.resources import DEPLOYMENTS, ENDPOINT_CONFIGS, JUMPSTART_MODELS, STATEFUL_SETS

_HASH = "pod-template-hash"
_WAITS = 10
"""An operator reports what it has rendered a moment after pods of it are made: two seconds are waited for that."""
_PAUSE_SECONDS = 0.2
MOST_WAITING = 32
"""Admissions that wait at once; each holds a thread of its own all the while."""
_RENDERED = {resource.kind: resource for resource in (ENDPOINT_CONFIGS, JUMPSTART_MODELS)}


class Waits:
    """Admissions that wait for an operator: so many at once, and others are answered without a wait."""

    def __init__(self, most: int = MOST_WAITING, pause: Callable[[float], None] = time.sleep) -> None:
        self._free = threading.Semaphore(most)
        self._pause = pause

    def out(self, ask: Callable[[], str]) -> str:
        """What is said last: it is asked again and again, until nothing is said or the time is up."""
        reason = ask()
        if not reason or not self._free.acquire(blocking=False):
            return reason
        try:
            for _ in range(_WAITS):
                self._pause(_PAUSE_SECONDS)
                reason = ask()
                if not reason:
                    break
        finally:
            self._free.release()
        return reason


def staleness(origin: Origin, get: Lookup, waits: Waits) -> str:
    """Why it may be of an older state; empty: it is of the present one.

    The custom resource is read before and after its Deployment, so that nothing comes between.

    Args:
        get: asked anew; what it raises is not caught.
    """
    reason = waits.out(lambda: _untaken(origin, get))
    return reason or _older(origin, get) or _untaken(origin, get)


def _older(origin: Origin, get: Lookup) -> str:
    """It is made from a template that its workload has left behind."""
    if origin.workload is None:
        return ""
    ref, raw = origin.workload
    is_older = False
    if ref.kind == DEPLOYMENTS.kind and origin.revision is not None:
        is_older = not is_current(origin.revision[1], get(DEPLOYMENTS, ref.namespace, ref.name) or {})
    elif ref.kind == STATEFUL_SETS.kind:
        own = labels(origin.pod[1], "metadata", "labels").get("controller-revision-hash", "")
        newest = text(raw, "status", "updateRevision")
        is_older = bool(own and newest) and own != newest
    return f"it is of an older revision than {ref} is at" if is_older else ""


def _untaken(origin: Origin, get: Lookup) -> str:
    """Its custom resource was edited since it was first read, or its operator has yet to take up the last edit."""
    if origin.source is None or origin.source[0].kind not in _RENDERED:
        return ""
    ref, first = origin.source
    now = get(_RENDERED[ref.kind], ref.namespace, ref.name) or {}
    generation, seen = whole(now, "metadata", "generation"), whole(now, "status", "observedGeneration")
    if generation != whole(first, "metadata", "generation"):
        return f"{ref} was edited just now"
    if generation is not None and seen is not None and seen < generation:
        return f"{ref} was edited, and its operator has not taken that up yet"
    return ""


def is_current(revision: Raw, deployment: Raw) -> bool:
    """A ReplicaSet's pods are what its Deployment's template says now.

    Source: Kubernetes, pkg/controller/deployment/util, EqualIgnoreHash.
    """
    return _plain(mapping(revision, "spec", "template")) == _plain(mapping(deployment, "spec", "template"))


def _plain(template: Raw) -> Raw:
    metadata = mapping(template, "metadata")
    own = {name: value for name, value in labels(metadata, "labels").items() if name != _HASH}
    return {**template, "metadata": {**metadata, "labels": own}}
