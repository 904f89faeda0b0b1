"""The injector's process: watches, the store's mounts, certificates and the webhook, until told to stop."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import structlog

from controller.api.client import Api
from controller.api.errors import NotServedError
from controller.api.mirror import Mirror
from controller.api.watcher import Place, Watcher
from controller.injector import keeper
from controller.injector.book import Bookkeeper
from controller.injector.decision import Decision, Sight, Undecided, Withheld, decide, traced
from controller.injector.freshness import Waits
from controller.injector.review import Reviewer
from controller.injector.safety import CSI_NODE, FUSE
from controller.injector.server import app_of, serve
from controller.injector.telling import Teller
from controller.l2_file import L2Source
from controller.objects import Raw
from controller.resources import CLAIMS, NODES, PODS, STORAGE_CLASSES, Resource, path_of
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.settings import Settings

log = structlog.get_logger()

NAME = "injector"
_OWNER_SECONDS = 1.0
"""A pod's owners are asked for while the API server waits: at most three, and it gives up after five."""
_BEAT_SECONDS = 10.0
_CURVINES = f"app in ({CSI_NODE},{FUSE})"


class Injector:
    """One replica of the webhook."""

    def __init__(self, settings: Settings, store: Store, api: Api, pulse: Pulse) -> None:
        """
        Raises:
            UsageError: the file of policies, or what is said of certificates, can't be used.
        """
        self._settings = settings
        self._store = store
        self._api = api
        self._pulse = pulse
        self._stop = threading.Event()
        self._mirror = Mirror(settings.cluster)
        self._mirror.take_config_maps({}, "the injector reads none")
        stale = settings.stale_after_seconds
        self._policies = L2Source(settings.l2_file)
        self._books = Bookkeeper(store, settings.cluster, self._policies, stale)
        self._waits = Waits()
        self._teller = Teller(api, store, settings.cluster, self.trace)
        lifetime = settings.injector_certificate_seconds
        self._has_certificate = threading.Event()
        self._keeper = keeper.Keeper(_certificates(settings, api), self._has_certificate.set, lifetime / 20)
        self._watchers = [Watcher(api, place, self._mirror, self._stop) for place in _places(settings.namespaces)]
        for place in _places(settings.namespaces):
            self._mirror.expect(place.resource, place.namespace)

    @property
    def is_ready(self) -> bool:
        """It can tell what may hurt."""
        return self._mirror.is_complete and self._keeper.is_ready

    @property
    def trouble(self) -> str:
        """What keeps it from its work; empty: nothing."""
        return self._keeper.trouble or self._books.trouble or self._teller.trouble or self._unseen()

    def decide(self, pod: Raw, namespace: str) -> Decision:
        """What becomes of a pod.

        Raises:
            TierdeckError: an owner could not be asked for.
        """
        if not self._mirror.is_complete:
            raise TierdeckError("the cluster's claims and nodes are not known yet")
        sight = Sight(self._mirror.look(), self._books.book, self._policies.file, self._get, self._waits)
        return decide(sight, pod, namespace, time.time())

    def trace(self, lost: Undecided) -> Withheld | None:
        """Whose pod it is that was not decided on; None: it did not opt in.

        Raises:
            TierdeckError: an owner could not be asked for.
        """
        return traced(lost, self._policies.file, self._get)

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set.

        Raises:
            UsageError: the port can't be had.
        """
        loops = (self._books.run, self._teller.run, self._keeper.run)
        threads = [threading.Thread(target=loop, args=(self._stop, self._pulse), daemon=True) for loop in loops]
        threads += [threading.Thread(target=watcher.run, daemon=True) for watcher in self._watchers]
        threads.append(threading.Thread(target=self._beats, daemon=True))
        self._books.look()
        for thread in threads:
            thread.start()
        try:
            while not self._has_certificate.wait(0.2) and not stop.is_set():
                pass
            if not stop.is_set():
                asyncio.run(self._serve(stop))
        finally:
            self._stop.set()
            for thread in threads[:3]:
                thread.join(timeout=2.0)
            self._sign_off()

    async def _serve(self, stop: threading.Event) -> None:
        ended = asyncio.Event()
        app = app_of(Reviewer(self.decide, self._teller.tell), lambda: self.is_ready)
        log.info("injector_serves", address=self._settings.injector_address, port=self._settings.injector_port)
        with ThreadPoolExecutor(1, "stop") as waiter:
            waiting = asyncio.get_running_loop().run_in_executor(waiter, stop.wait)
            waiting.add_done_callback(lambda _: ended.set())
            address, port = self._settings.injector_address, self._settings.injector_port
            try:
                await serve(app, address, port, self._keeper.context, ended)
            finally:
                stop.set()  # else its thread waits for ever

    def _get(self, resource: Resource, namespace: str, name: str) -> Raw | None:
        try:
            return self._api.get(path_of(resource, namespace, name), read_seconds=_OWNER_SECONDS)
        except NotServedError:
            return None

    def _unseen(self) -> str:
        """With some namespaces only, that of Curvine's driver may have been left out."""
        names = self._settings.namespaces
        found = self._mirror.look()
        if not names or not self._mirror.is_complete or not found.sees(PODS) or any(True for _ in found.all(PODS)):
            return ""
        return f"no pod of Curvine's CSI driver is in {', '.join(names)}: name its namespace too"

    def _beats(self) -> None:
        instance, started_at = _instance(), time.time()
        while not self._stop.is_set():
            self._pulse.beat("heartbeat")
            try:
                now = time.time()
                self._store.beat(NAME, instance, version("tierdeck"), started_at, now, trouble=self.trouble)
            except TierdeckError as error:
                log.warning("beat_failed", reason=error.line())
            self._stop.wait(_BEAT_SECONDS)

    def _sign_off(self) -> None:
        try:
            self._store.sign_off(NAME, _instance(), time.time())
        except TierdeckError as error:
            log.warning("beat_failed", reason=error.line())


def _instance() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _places(namespaces: tuple[str, ...]) -> list[Place]:
    """What is watched: nodes and classes, and claims and Curvine's own pods in the namespaces that are looked into."""
    inside = [
        place
        for namespace in namespaces or ("",)
        for place in (Place(CLAIMS, "v1", namespace), Place(PODS, "v1", namespace, _CURVINES))
    ]
    return [Place(NODES, "v1"), Place(STORAGE_CLASSES, "v1"), *inside]


def _certificates(settings: Settings, api: Api) -> keeper.Certificates:
    """Of files, where some are named, else of our own."""
    certificate, key = settings.injector_cert_file, settings.injector_key_file
    if certificate is not None and key is not None:
        return keeper.Files(certificate, key)
    if not settings.injector_secret or not settings.injector_webhook:
        raise UsageError(
            "the injector needs a certificate",
            "Set TIERDECK_INJECTOR_SECRET and TIERDECK_INJECTOR_WEBHOOK, or TIERDECK_INJECTOR_CERT_FILE and _KEY_FILE.",
        )
    names = tuple(filter(None, (name.strip() for name in settings.injector_names.split(","))))
    place = keeper.Place(settings.injector_secret, settings.injector_webhook)
    return keeper.Shared(api, place, keeper.Order(names, settings.injector_certificate_seconds))
