"""A stand-in's loop: one thread that looks at the whole cluster again and again until it is stopped."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod

import requests

from tests.support.cluster import Cluster
from tests.support.kube_rest import RefusedError


class Loop(ABC):
    """Calls `round` until it is stopped; an API server that is away or says no is asked again in the next round."""

    pause_seconds = 0.2

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rest = cluster.rest.another()
        self.lock = threading.RLock()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._thread: threading.Thread | None = None

    @abstractmethod
    def round(self) -> None:
        """Look at everything once."""

    def start(self) -> None:
        """Start the thread; a second time after a stop."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. What went wrong in it, other than refusals, is raised here."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def settle(self) -> None:
        """Returns when the round that may be going on has ended: the next one sees what was written before."""
        with self.lock:
            pass

    def close(self) -> None:
        """Close the connections."""
        self.rest.close()

    def _run(self) -> None:
        while not self._ended.wait(self.pause_seconds):
            try:
                with contextlib.suppress(requests.RequestException, RefusedError), self.lock:
                    self.round()
            except Exception as error:  # noqa: BLE001 told by stop()
                self._failure = error
                return
