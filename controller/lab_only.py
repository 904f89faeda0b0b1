"""A controller without a cluster: it makes the changes of a lab, and observes nothing."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from importlib.metadata import version

import structlog

from controller.api.errors import ApiUnreachableError
from controller.changes.runner import Runner
from controller.changes.ways import ways
from controller.objects import Objects
from controller.writing import NAME
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.settings import Settings

log = structlog.get_logger()
_BEAT_SECONDS = 10.0


def is_lab_only(settings: Settings) -> bool:
    """A lab is named, and no cluster: the kubeconfig of whoever tries Tierdeck out is not touched for that."""
    is_inside = "KUBERNETES_SERVICE_HOST" in os.environ
    return bool(settings.lab_url) and settings.kubeconfig is None and not settings.kube_context and not is_inside


def run_lab(settings: Settings, store: Store, stop: threading.Event, pulse: Pulse) -> None:
    """Make what is proposed until told to stop; then sign off.

    Raises:
        UsageError: the file of what may be changed is missing or broken.
    """
    instance, started_at = f"{socket.gethostname()}:{os.getpid()}", time.time()
    runner = Runner(settings, store, ways(settings, store, None, _no_cluster), instance)
    thread = threading.Thread(target=runner.run, args=(stop, pulse), name="changes", daemon=True)
    thread.start()
    while not stop.is_set():
        pulse.beat("heartbeat")
        try:
            store.beat(NAME, instance, version("tierdeck"), started_at, time.time(), trouble=runner.trouble)
        except TierdeckError as error:
            log.warning("beat_failed", reason=error.line())
        stop.wait(_BEAT_SECONDS)
    thread.join(timeout=_BEAT_SECONDS)
    with contextlib.suppress(TierdeckError):
        store.sign_off(NAME, instance, time.time())


def _no_cluster() -> Objects:
    raise ApiUnreachableError("this controller watches no cluster")
