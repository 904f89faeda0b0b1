"""Writes rounds in batches; while the store is away they wait, bounded, and the oldest go first."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque

import structlog

from collectors import metrics
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.rounds import Round

log = structlog.get_logger()

_BATCH = 200
_LARGEST_QUEUE = 20_000
_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 10.0


class Writer:
    """A queue in front of the store; rounds are taken out of it by whoever writes them, and put back if that fails."""

    def __init__(self, store: Store, pulse: Pulse | None = None) -> None:
        """
        Args:
            pulse: told whenever a batch is written, or there is none.
        """
        self._store = store
        self._pulse = pulse or Pulse()
        self._waiting: deque[Round] = deque()
        self._lock = threading.Lock()

    def put(self, part: Round) -> None:
        """Queue a round; never blocks on the store."""
        self._waiting.append(part)
        self._bound()

    def _bound(self) -> None:
        while len(self._waiting) > _LARGEST_QUEUE:
            self._waiting.popleft()
            metrics.ROUNDS_DROPPED.inc()
        metrics.ROUNDS_WAITING.set(len(self._waiting))

    async def run(self) -> None:
        """Write what waits, until cancelled."""
        pause = _PAUSE_SECONDS
        while True:
            self._pulse.beat("write")
            await asyncio.sleep(pause)
            try:
                await asyncio.to_thread(self.flush)
                pause = _PAUSE_SECONDS
            except TierdeckError as error:
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                log.warning("append_failed", reason=error.line(), waiting=len(self._waiting), again_in_seconds=pause)

    def flush(self) -> None:
        """Write everything that waits; one caller at a time.

        Raises:
            TierdeckError: the store did not take it; nothing is lost, it goes on waiting.
        """
        with self._lock:
            while self._waiting:
                self._pulse.beat("write")  # a long queue is no hung loop
                batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
                try:
                    with metrics.APPEND_SECONDS.time():
                        self._store.append(batch)
                except TierdeckError:
                    self._waiting.extendleft(reversed(batch))
                    self._bound()
                    raise
                metrics.LAST_WRITE.set(time.time())
                metrics.ROUNDS_WAITING.set(len(self._waiting))
