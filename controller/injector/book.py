"""Reads the pool's mounts from the store, again and again; an admission never waits for it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from controller.injector.safety import MountBook
from controller.l2_file import L2Source
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError

_EVERY_SECONDS = 5.0


class Bookkeeper:
    """Keeps the newest of both: the mounts that the store has, and the file of policies."""

    def __init__(self, store: Store, cluster: str, policies: L2Source, stale_after_seconds: float) -> None:
        self._store = store
        self._cluster = cluster
        self._policies = policies
        self.book = MountBook(stale_after_seconds=stale_after_seconds)

    @property
    def trouble(self) -> str:
        """What could not be read; empty: all could."""
        return self._policies.trouble or self.book.trouble

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop."""
        while not stop.is_set():
            pulse.beat("book")
            self.look()
            stop.wait(_EVERY_SECONDS)

    def look(self) -> None:
        """Read both once; what can't be read stays as it was, and is said."""
        self._policies.look()
        try:
            mounts = {one.target: one for one in self._store.mounts(self._cluster)}
        except TierdeckError as error:
            self.book = replace(self.book, trouble=error.line())
        else:
            self.book = replace(self.book, mounts=mounts, read_at=time.time(), trouble="")
