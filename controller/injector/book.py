"""Reads the pool's mounts from the store, again and again; an admission never waits for it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import structlog

from controller.injector.safety import MountBook
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.l2.file import L2File, read_l2_file

log = structlog.get_logger()

_EVERY_SECONDS = 5.0


class Bookkeeper:
    """Keeps the newest of both: the mounts that the store has, and the file of policies."""

    def __init__(self, store: Store, cluster: str, file: Path | None, stale_after_seconds: float) -> None:
        """
        Raises:
            UsageError: the file can't be used.
        """
        self._store = store
        self._cluster = cluster
        self._path = file
        self.file: L2File = read_l2_file(file)
        self.book = MountBook(stale_after_seconds=stale_after_seconds)
        self.trouble = ""

    def run(self, stop: threading.Event, pulse: Pulse) -> None:
        """Until told to stop."""
        while not stop.is_set():
            pulse.beat("book")
            self.look()
            stop.wait(_EVERY_SECONDS)

    def look(self) -> None:
        """Read both once; what can't be read stays as it was, and is said."""
        self.trouble = self._read_file() or self._read_mounts()

    def _read_mounts(self) -> str:
        try:
            mounts = {one.target: one for one in self._store.mounts(self._cluster)}
        except TierdeckError as error:
            self.book = MountBook(self.book.mounts, self.book.read_at, error.line(), self.book.stale_after_seconds)
            return error.line()
        self.book = MountBook(mounts, time.time(), "", self.book.stale_after_seconds)
        return ""

    def _read_file(self) -> str:
        try:
            found = read_l2_file(self._path)
        except TierdeckError as error:
            return f"{error.line()} The one before it still holds."
        if found != self.file:
            log.info("l2_file_changed", enabled=found.enabled, endpoints=len(found.endpoints))
            self.file = found
        return ""
