"""One watch on one resource: lists it, follows its changes, and starts over whenever that breaks."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import structlog

from controller.api.client import Api
from controller.api.errors import ApiFailingError, ExpiredError, ForbiddenError, NotServedError
from controller.api.mirror import Mirror
from controller.resources import Resource
from tierdeck.errors import TierdeckError

log = structlog.get_logger()

_PAGE = 500
_WATCH_SECONDS = 60
"""Short, so that a connection that died without a word is noticed within a minute or so; beginning anew is cheap."""
_LEAST_PAUSE_SECONDS = 1.0
_MOST_PAUSE_SECONDS = 30.0
_SAID_PAUSE_SECONDS = 8.0
"""The pause after the fourth failure in a row."""
_REFUSED_PAUSE_SECONDS = 60.0
"""A right that is missing is asked for again at this pace, so that granting it needs no restart."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is watched: one resource, in one namespace or ("") all of them.

    Attributes:
        labels: a label selector; empty: all objects.
    """

    resource: Resource
    version: str
    namespace: str = ""
    labels: str = ""

    @property
    def query(self) -> dict[str, str | int]:
        return {"labelSelector": self.labels} if self.labels else {}

    @property
    def path(self) -> str:
        group = self.resource.group
        base = f"/apis/{group}/{self.version}" if group else f"/api/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{base}{inside}/{self.resource.plural}"


class Watcher:
    """Runs in a thread of its own until `stop` is set; what it learns goes into the mirror."""

    def __init__(self, api: Api, place: Place, mirror: Mirror, stop: threading.Event) -> None:
        self._api = api
        self._place = place
        self._mirror = mirror
        self._stop = stop
        self._pause_seconds = _LEAST_PAUSE_SECONDS
        self._is_forbidden = False

    def run(self) -> None:
        """List and watch, again and again."""
        while not self._stop.is_set():
            try:
                version = self.list()
                while not self._stop.is_set():
                    began = time.monotonic()
                    version = self._follow(version)
                    if time.monotonic() - began < _LEAST_PAUSE_SECONDS:
                        self._stop.wait(_LEAST_PAUSE_SECONDS)  # a server that drains ends a watch at once
            except ExpiredError:
                log.info("watch_expired", resource=self._place.resource.name)
                self._stop.wait(_LEAST_PAUSE_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            except ForbiddenError as error:
                self._refused(str(error))
            except NotServedError:
                self._mirror.blind(self._place.resource, self._place.namespace, "")
                self._stop.wait(_REFUSED_PAUSE_SECONDS)
            except TierdeckError as error:
                self._failed(error)
            except Exception as error:  # one odd object must not end the watch of a resource without a word
                log.exception("watch_failed", resource=self._place.resource.name)
                self._failed(TierdeckError(f"an answer about {self._place.resource.name} makes no sense: {error!r}"))

    def list(self) -> str:
        """List everything into the mirror; the version to watch from.

        Raises:
            TierdeckError: of a kind of `controller.api.errors`.
        """
        page: dict[str, Any] = {}

        def items() -> Iterator[dict[str, Any]]:
            nonlocal page
            token = ""
            while True:
                page = self._api.get(
                    self._place.path, self._place.query | {"limit": _PAGE} | ({"continue": token} if token else {})
                )
                yield from page.get("items") or ()
                token = page["metadata"].get("continue", "")
                if not token:
                    return

        self._mirror.replace(self._place.resource, self._place.namespace, items())
        if self._is_forbidden:
            log.info("right_granted", resource=self._place.resource.name)
        self._pause_seconds, self._is_forbidden = _LEAST_PAUSE_SECONDS, False
        return str(page["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str:
        """Follow the changes since a version, until the server ends the watch; the version reached."""
        act: dict[str, Callable[[dict[str, Any]], None]] = {
            "ADDED": lambda one: self._mirror.put(self._place.resource, self._place.namespace, one),
            "MODIFIED": lambda one: self._mirror.put(self._place.resource, self._place.namespace, one),
            "DELETED": lambda one: self._mirror.drop(self._place.resource, self._place.namespace, one),
        }
        for change in self._api.watch(
            self._place.path, self._place.query | {"resourceVersion": version}, _WATCH_SECONDS
        ):
            if self._stop.is_set():
                break
            one = change["object"]
            if change["type"] in act:
                act[change["type"]](one)
            version = str(one["metadata"]["resourceVersion"])
        return version

    def _refused(self, reason: str) -> None:
        if not self._is_forbidden:
            log.warning("right_missing", resource=self._place.resource.name, reason=reason)
        self._is_forbidden = True
        self._mirror.blind(self._place.resource, self._place.namespace, reason)
        self._stop.wait(_REFUSED_PAUSE_SECONDS)

    def _failed(self, error: TierdeckError) -> None:
        """What is known stays; the server is left alone for longer and longer.

        One resource that fails while others don't (a conversion webhook that is down) can't be seen after a while:
        nothing waits for it, and it is said.
        """
        if self._pause_seconds == _LEAST_PAUSE_SECONDS:
            log.info("watch_failed", resource=self._place.resource.name, reason=error.line())
        if isinstance(error, ApiFailingError) and self._pause_seconds >= _SAID_PAUSE_SECONDS:
            self._mirror.blind(self._place.resource, self._place.namespace, str(error))
        self._stop.wait(self._pause_seconds * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
        self._pause_seconds = min(2 * self._pause_seconds, _MOST_PAUSE_SECONDS)
