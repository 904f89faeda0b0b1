"""A Prometheus as the collector's source: the live feed, and the past behind it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from collectors.prometheus.asking import Asking
from collectors.prometheus.backfill import Past, fill, first_contact
from collectors.prometheus.feed import Feed
from collectors.prometheus.labels import Rule
from collectors.prometheus.server import Server
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError
from tierdeck.rounds import Round
from tierdeck.settings import Settings

log = structlog.get_logger()

_PAUSE_SECONDS = 30.0
"""Until the past is tried again."""
_HUNG_SECONDS = 1800.0
"""A round asks a server that may be slow, several times over."""


class PrometheusSource:
    """Runs until it is cancelled; what fails is told once, and tried again."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        put: Callable[[Round], None],
        rules: Callable[[], Sequence[Rule]],
        *,
        pulse: Pulse,
    ) -> None:
        """
        Args:
            pulse: told whenever a round begins.
        """
        self._settings = settings
        self._store = store
        self._put = put
        self._rules = rules
        self._pulse = pulse
        self._stopping = threading.Event()
        self._trouble = ""

    @property
    def trouble(self) -> str:
        """Why the last question was not answered; empty while all is well."""
        return self._trouble

    async def run(self) -> None:
        """Ask every interval; threads end with the query they are at, and don't wait for another try."""
        past: asyncio.Task[None] | None = None
        server = Server.of(self._settings, self._stopping.wait)
        feed = Feed(self._settings, self._rules, self._store, self._put, server)
        try:
            while True:
                self._pulse.beat("prometheus", _HUNG_SECONDS)
                if await self._tried(partial(feed.step, float(int(time.time())))) and past is None:
                    past = asyncio.create_task(self._past(feed))
                interval = self._settings.scrape_interval_seconds
                await asyncio.sleep(interval - time.time() % interval)
        finally:
            self._stopping.set()
            if past is not None:
                past.cancel()

    async def _past(self, feed: Feed) -> None:
        known = first_contact(self._store, self._settings.prometheus_address, self._settings.cluster)
        if known is None and feed.goes_on:
            return
        past = Past(
            self._settings.prometheus_address,
            self._settings.prometheus_backfill_seconds,
            feed.since if known is None else known,
            self._settings.cluster,
            self._settings.warming,
        )
        while not await self._tried(lambda: self._fill(past)):
            await asyncio.sleep(_PAUSE_SECONDS)

    def _fill(self, past: Past) -> None:
        with Server.of(self._settings, self._stopping.wait) as server:
            asking = lambda: Asking(server, self._settings.prometheus_match)  # noqa: E731
            for _ in fill(past, asking, self._rules(), self._store):
                if self._stopping.is_set():
                    return

    async def _tried(self, act: Callable[[], object]) -> bool:
        """Whether it went well; a failure is logged when its reason is a new one."""
        try:
            await asyncio.to_thread(act)
        except TierdeckError as error:
            if error.line() != self._trouble:
                log.warning("prometheus_failed", reason=error.line())
            self._trouble = error.line()
            return False
        if self._trouble:
            log.info("prometheus_recovered")
        self._trouble = ""
        return True
