"""Scrapes one replica, round after round, and hands each accounted round on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from collectors import metrics
from collectors.accountant import ReplicaAccountant
from collectors.asker import VersionAsker
from collectors.body import interpret, is_cut
from collectors.fetch import Fetcher
from collectors.rhythm import BackOff, next_round, offset_seconds
from collectors.round_parts import Answered
from collectors.source import TargetReading
from collectors.sources import BY_KIND
from tierdeck.fleet import Replica, Target
from tierdeck.rounds import Round, Scrape

log = structlog.get_logger()


class ReplicaTask:
    """One replica's scraping; `run` ends only when it is cancelled."""

    def __init__(
        self,
        replica: Replica,
        fetcher: Fetcher,
        hand_on: Callable[[Round], None],
        interval_seconds: float,
        memory: Mapping[str, object] | None = None,
        absent_at: float | None = None,
    ) -> None:
        """`memory` and `absent_at` as in ReplicaAccountant."""
        self.replica = replica
        self._fetcher = fetcher
        self._hand_on = hand_on
        self._interval = interval_seconds
        self._accountant = ReplicaAccountant(
            replica, memory, interval_seconds=interval_seconds, absent_at=None if memory else absent_at
        )
        self._asker = VersionAsker(replica, fetcher, self._accountant.versions)
        self._back_offs = {target.name: BackOff() for target in replica.targets}
        self._reasons: dict[str, str] = {}

    async def run(self) -> None:
        """Scrape at once, so that a new replica shows soon, then in its own slot of every interval."""
        offset = offset_seconds(self.replica.key, self._interval)
        while True:
            self._hand_on(await self.round())
            now = time.time()
            await asyncio.sleep(next_round(now, offset, self._interval) - now)

    async def round(self) -> Round:
        """Scrape every target once, at the same time, and account."""
        at = time.time()
        answers = await asyncio.gather(*(self._scrape(target, at) for target in self.replica.targets))
        return self._accountant.feed(at, {answer.scrape.target.name: answer for answer in answers})

    async def _scrape(self, target: Target, at: float) -> Answered:
        back_off = self._back_offs[target.name]
        if back_off.skips():
            told = self._asker.missed(target)
            return Answered(Scrape(target, at, answered=False, reason=back_off.reason, version=told))
        source = BY_KIND[target.kind]
        fetched = await self._fetcher.fetch(target.url)
        back_off.record(slow=fetched.slow)
        reading: TargetReading | None = None
        reason = fetched.reason
        if not reason:
            reading, reason = interpret(source, fetched.text)
            if reading is not None and source.ends_with_newline and is_cut(fetched.text):
                reading, reason = None, "the body ends in mid-line"
        self._report(target, reason)
        metrics.SCRAPES.labels(target.kind, "failed" if reason else "ok").inc()
        metrics.SCRAPE_SECONDS.observe(fetched.duration_seconds)
        if reading is None or reason:
            version = self._asker.missed(target)
        else:  # with half of what is left of the interval, so that the next round comes in time
            left = (self._interval - fetched.duration_seconds) / 2
            continues = self._accountant.continues(target.name, reading)
            version = await self._asker.reached(target, left, continues=continues)
        scrape = Scrape(target, at, fetched.answered, reason, fetched.duration_seconds, fetched.body_bytes, version)
        return Answered(scrape, reading)

    def _report(self, target: Target, reason: str) -> None:
        """Log a target's change for the worse or the better, not every scrape."""
        if reason == self._reasons.get(target.name, ""):
            return
        self._reasons[target.name] = reason
        where = {"endpoint": target.key.endpoint, "replica": target.key.replica, "target": target.name}
        if reason:
            log.warning("target_failed", reason=reason, url=target.url, **where)
        else:
            log.info("target_recovered", **where)
