"""A change held while it is worked on: renewed beside the work, so that nobody else takes it up meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

import structlog

from controller.changes.move import LeaseLostError
from db import Store
from tierdeck.errors import TierdeckError

log = structlog.get_logger()
LEASE_SECONDS = 30.0
"""So long after a controller ended without a word, another one takes its change up."""


class Lease:
    """One change, claimed by this holder; as a context manager, it is renewed until the end of the block."""

    def __init__(self, store: Store, number: int, holder: str, clock: Callable[[], float]) -> None:
        self._store = store
        self._number = number
        self._holder = holder
        self._clock = clock
        self._is_done = threading.Event()

    def hold(self) -> None:
        """Make sure of it, for another 30 seconds.

        Raises:
            LeaseLostError: it is not this holder's any more.
        """
        if not self._store.hold_change(self._number, self._holder, self._clock(), LEASE_SECONDS):
            raise LeaseLostError

    def __enter__(self) -> Self:
        threading.Thread(target=self._renew, name="change lease", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_done.set()

    def _renew(self) -> None:
        while not self._is_done.wait(LEASE_SECONDS / 3):
            try:
                self.hold()
            except LeaseLostError:
                return  # who works on it finds out before the next write
            except TierdeckError as error:
                log.warning("lease_not_renewed", change=self._number, reason=error.line())
