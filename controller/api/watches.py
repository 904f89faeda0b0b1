"""All watches of a cluster, kept going; and the sign of life of its API server."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from controller.api.client import Api
from controller.api.discovery import Served, discover
from controller.api.errors import ForbiddenError, NotServedError
from controller.api.mirror import Key, Mirror
from controller.api.watcher import Place, Watcher
from controller.resources import RESOURCES, Resource
from health.pulse import Pulse
from tierdeck.errors import TierdeckError

log = structlog.get_logger()

_DISCOVERY_SECONDS = 30.0
_AWAY_DISCOVERY_SECONDS = 5.0


class Watches:
    """Starts a watch for each resource that is served, also where its definition is installed later."""

    def __init__(self, api: Api, mirror: Mirror, namespaces: Sequence[str], stop: threading.Event) -> None:
        self._api = api
        self._mirror = mirror
        self._namespaces = tuple(namespaces) or ("",)
        self._stop = stop
        self._threads: dict[Place, threading.Thread] = {}
        self._asked: set[Key] = set()
        self._lock = threading.Lock()
        self.served: Served | None = None
        self.trouble = ""
        self._away_since = ""

    def run(self, pulse: Pulse) -> None:
        """Until `stop` is set."""
        while not self._stop.is_set():
            pulse.beat("watches")
            self.step()
            self._stop.wait(_AWAY_DISCOVERY_SECONDS if self.trouble else _DISCOVERY_SECONDS)

    def step(self) -> None:
        """Ask what is served, start the watches that are new, read the ConfigMaps that were asked for."""
        try:
            served = discover(self._api)
        except TierdeckError as error:
            if not self.trouble:
                log.warning("api_away", reason=error.line())
                self._away_since = time.strftime("%H:%M:%S UTC", time.gmtime())
            self.trouble = f"{error}; what is known is as of {self._away_since}"
            return
        if self.trouble:
            log.info("api_back")
        self.served, self.trouble = served, ""
        places = [place for resource in RESOURCES for place in self._cover(resource, served)]
        for place in places:  # all before the first one can be listed: else a part looks like the whole
            self._mirror.expect(place.resource, place.namespace)
        for place in places:
            self._start(place)
        self._read_config_maps()

    def list_once(self) -> None:
        """List each resource once, one after the other, without watching; what can't be seen is known afterwards.

        Raises:
            ApiUnreachableError: the server does not answer.
            CredentialsError: it does not know who asks.
        """
        self.served = served = discover(self._api)
        for resource in RESOURCES:
            for place in self._cover(resource, served):
                try:
                    Watcher(self._api, place, self._mirror, self._stop).list()
                except ForbiddenError as error:
                    self._mirror.blind(resource, place.namespace, str(error))
                except NotServedError:
                    self._mirror.blind(resource, place.namespace, "")

    def ask(self, config_maps: set[Key]) -> bool:
        """Read these ConfigMaps from now on; at once where one is new: then True."""
        with self._lock:
            is_new = not config_maps <= self._asked
            self._asked = set(config_maps)
        if is_new:
            self._read_config_maps()
        return is_new

    def _cover(self, resource: Resource, served: Served) -> list[Place]:
        """Where it can be listed; where it can't, the mirror knows afterwards."""
        namespaces = self._namespaces if resource.is_namespaced else ("",)
        version = served.versions.get(resource)
        if version is not None:
            return [Place(resource, version, namespace) for namespace in namespaces]
        reason = ""
        if resource in served.other:
            versions = " and ".join(served.other[resource])
            reason = f"{resource.name} is served as {versions} only, this version reads {resource.versions[0]}"
        for namespace in namespaces:
            self._mirror.blind(resource, namespace, reason)
        return []

    def _start(self, place: Place) -> None:
        if place not in self._threads:
            watcher = Watcher(self._api, place, self._mirror, self._stop)
            self._threads[place] = threading.Thread(target=watcher.run, name=place.path, daemon=True)
            self._threads[place].start()

    def _read_config_maps(self) -> None:
        with self._lock:
            asked = sorted(self._asked)
        found: dict[Key, Mapping[str, Any]] = {}
        blind = ""
        for namespace, name in asked:
            try:
                found[namespace, name] = self._api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
            except NotServedError:
                continue
            except ForbiddenError as error:
                blind = str(error)
            except TierdeckError:
                return
        self._mirror.take_config_maps(found, blind)
