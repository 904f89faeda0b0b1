"""Faults of ours in threads that nobody waits for: logged with where, and told until the same work ends well."""

from __future__ import annotations

import threading
import traceback

import structlog

log = structlog.get_logger()


class Faults:
    """By work, such as a channel's; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}

    def failed(self, work: str, error: Exception) -> None:
        """The traceback without the error's own words, which may hold an address."""
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("thread_failed", work=work, fault=type(error).__name__, where=where)
        with self._lock:
            self._known[work] = f"a fault of Tierdeck's own at {work} ({type(error).__name__}), its log says where"

    def went_well(self, work: str) -> None:
        with self._lock:
            self._known.pop(work, None)

    def trouble(self) -> str:
        """One sentence about all of them; empty: there is none."""
        with self._lock:
            return "; ".join(self._known.values())
