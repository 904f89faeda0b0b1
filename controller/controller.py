"""The controller: looks whenever the cluster changes, and writes what it sees; beside that it makes changes."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from dataclasses import replace
from importlib.metadata import version

import structlog

from controller import metrics
from controller.api.client import Api
from controller.api.errors import ApiUnreachableError
from controller.api.mirror import Mirror
from controller.api.watches import Watches
from controller.backends import BACKENDS
from controller.changes.kube.rights import WriteRights
from controller.changes.runner import Runner
from controller.changes.ways import ways
from controller.inventory import Inventory, Seen
from controller.l2_file import L2Source
from controller.objects import Objects
from controller.writing import NAME, write
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.fleet import POOL
from tierdeck.settings import Settings

log = structlog.get_logger()

_SETTLE_SECONDS = 0.3
"""Changes come in bursts: what comes within this time is looked at together."""
_LEAST_PAUSE_SECONDS = 0.5
_PAUSE_OF_LOOK = 2.0
"""After a look, nothing is looked at for so many times as long as it took: a busy cluster costs a share of a core."""
_MOST_PAUSE_SECONDS = 1.0
_TICK_SECONDS = 1.0
_WAITING_SECONDS = 15.0
"""Looks so often where nothing changes but something is said only once it has lasted, or could not be written."""
_IDLE_SECONDS = 600.0
_BEAT_SECONDS = 10.0


class Controller:
    """One controller of one cluster."""

    def __init__(self, settings: Settings, store: Store, api: Api, stop: threading.Event, pulse: Pulse) -> None:
        """
        Args:
            stop: ends it, once set.
            pulse: told whenever one of its loops comes round.

        Raises:
            UsageError: the file of L2 policies, or of what may be changed, can't be used.
        """
        self._settings = settings
        self._store = store
        self._version = version("tierdeck")
        self._mirror = Mirror(settings.cluster)
        self._stop = stop
        self._pulse = pulse
        self._watches = Watches(api, self._mirror, settings.namespaces, stop)
        self._inventory: Inventory | None = None
        self._trouble = ""
        self._l2 = L2Source(settings.l2_file)
        self._started_at = time.time()
        self._instance = f"{socket.gethostname()}:{os.getpid()}"
        self._runner = Runner(settings, store, ways(settings, store, api, self._whole), self._instance)
        self._rights = WriteRights(api) if settings.changes_file is not None else None
        self._lacks_rights = False

    def run(self) -> None:
        """Look until told to stop; then sign off."""
        stop = self._stop
        threads = [
            threading.Thread(target=self._watches.run, args=(self._pulse,), name="watches", daemon=True),
            threading.Thread(target=self._beats, name="beat", daemon=True),
            threading.Thread(target=self._runner.run, args=(stop, self._pulse), name="changes", daemon=True),
        ]
        for thread in threads:
            thread.start()
        seen, looked_at = 0, -_IDLE_SECONDS
        while not stop.is_set():
            self._pulse.beat("look")
            changes = self._mirror.wait(seen, _TICK_SECONDS)
            is_waiting = self._inventory is not None and self._inventory.is_waiting
            soon = min(_WAITING_SECONDS, max(self._settings.drift_seconds, _TICK_SECONDS))
            longest = soon if is_waiting or self._trouble or self._lacks_rights else _IDLE_SECONDS
            is_due = self._l2.look() or changes != seen or time.monotonic() - looked_at >= longest
            if not is_due or not self._mirror.is_complete or stop.wait(_SETTLE_SECONDS):
                continue
            seen, looked_at = self._mirror.changes, time.monotonic()
            self._step()
            took = time.monotonic() - looked_at
            stop.wait(min(max(_PAUSE_OF_LOOK * took, _LEAST_PAUSE_SECONDS), _MOST_PAUSE_SECONDS))
        for thread in threads:
            thread.join(timeout=_MOST_PAUSE_SECONDS)
        with contextlib.suppress(TierdeckError):
            self._store.sign_off(NAME, self._instance, time.time())

    def _step(self) -> None:
        """Look once, and write it; what can't be written now is seen again at the next look."""
        served = self._watches.served
        objects = self._look()
        try:
            inventory = self._inventory or self._begin()
            seen = inventory.look(objects, served.unknown if served is not None else (), time.time())
            if self._watches.ask(objects.asked):  # what was just read of ConfigMaps counts before anything is told
                seen = inventory.look(self._look(), seen.sighting.unknown_kinds, time.time())
            self._write(self._with_rights(seen))
        except TierdeckError as error:
            self._say(error.line())
        except Exception as error:  # one odd object must not end the loop for the whole cluster: told as trouble
            log.exception("look_failed")
            self._trouble = f"a fault of Tierdeck's own, the inventory is not up to date: {error!r}"

    def _look(self) -> Objects:
        """The cluster's objects, with who is to have L2."""
        return replace(self._mirror.look(), l2=self._l2.file)

    def _whole(self) -> Objects:
        """The same for who changes them.

        Raises:
            ApiUnreachableError: not everything has been listed yet.
        """
        if not self._mirror.is_complete:
            raise ApiUnreachableError("the cluster is still being listed")
        return self._look()

    def _with_rights(self, seen: Seen) -> Seen:
        """With what is missing to change each endpoint, so that the console offers only what can be done."""
        if self._rights is None:
            return seen
        sighting = self._rights.stamped(seen.sighting)
        self._lacks_rights = any(one.write_rules for one in sighting.deployed)
        return replace(seen, sighting=sighting)

    def _say(self, trouble: str) -> None:
        """Once in the log, and as trouble for as long as it lasts; empty: there is none."""
        if trouble and trouble != self._trouble:
            log.warning("look_failed", reason=trouble)
        self._trouble = trouble

    def _begin(self) -> Inventory:
        """With what the store remembers."""
        cluster = self._settings.cluster
        known = self._store.deployed(cluster), self._store.nodes(cluster)
        inventory = Inventory(BACKENDS, *known, self._settings.drift_seconds)
        inventory.remember([*self._store.endpoints(cluster), *self._store.pools(cluster)])
        self._inventory = inventory
        return inventory

    def _write(self, seen: Seen) -> None:
        written = write(self._store, seen, self._settings.pod_proxy)
        if written.is_changed:
            log.info("inventory_changed", endpoints=len(seen.endpoints), pools=len(seen.pools))
        if written.events:
            log.info("events_written", events=written.events)
        self._say(written.trouble)
        metrics.LOOKS.inc()
        metrics.EVENTS.inc(written.events)
        metrics.ENDPOINTS.set(sum(one.endpoint != POOL for one in seen.sighting.deployed))

    def _beats(self) -> None:
        while not self._stop.is_set():
            self._pulse.beat("heartbeat")
            troubles = (self._watches.trouble, self._trouble, self._l2.trouble, self._runner.trouble)
            trouble, now = next(filter(None, troubles), ""), time.time()
            try:
                self._store.beat(NAME, self._instance, self._version, self._started_at, now, trouble=trouble)
            except TierdeckError as error:
                log.warning("beat_failed", reason=error.line())
            except Exception:  # a thread that ends here would show a live controller as dead
                log.exception("beat_failed")
            self._stop.wait(_BEAT_SECONDS)
