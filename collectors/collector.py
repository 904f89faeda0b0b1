"""The collector: keeps one task a replica running, and the store written, rolled up and pruned."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from collectors import metrics
from collectors.config import read_config
from collectors.fetch import Fetcher
from collectors.prometheus.labels import Rule
from collectors.prometheus.source import PrometheusSource
from collectors.replica_task import ReplicaTask
from collectors.writer import Writer
from db import Store
from health.pulse import Pulse
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.fleet import Replica
from tierdeck.settings import Settings

log = structlog.get_logger()

_NAME = "collectors"
_INVENTORY_SECONDS = 5.0
_ROLLUP_SECONDS = 15.0
_PRUNE_SECONDS = 3600.0
_BEAT_SECONDS = 10.0
_CHORE_SECONDS = 3600.0
"""A chore that takes longer hangs: rolling up what a collector finds after days away takes minutes."""
ORIGIN = "configuration file"


class Collector:
    """One collector process of one cluster."""

    def __init__(self, settings: Settings, store: Store, version: str, pulse: Pulse) -> None:
        """
        Args:
            pulse: told whenever one of its loops comes round.
        """
        self._settings = settings
        self._store = store
        self._version = version
        self._writer = Writer(store, pulse)
        self._pulse = pulse
        self._tasks: dict[Replica, asyncio.Task[None]] = {}
        self._config_seen: tuple[int, int] | None = None
        self._rules: tuple[Rule, ...] = ()
        self._looked_at: float | None = None
        self._source: PrometheusSource | None = None
        self._started_at = time.time()
        self._instance = f"{socket.gethostname()}:{os.getpid()}"

    async def run(self, stop: asyncio.Event) -> None:
        """Collect until `stop` is set; then write what is left, and sign off.

        Raises:
            UsageError: the configuration file can't be used at the start.
        """
        self.take_config(at_start=True)
        async with Fetcher(self._settings) as fetcher:
            chores = [
                asyncio.create_task(self._writer.run()),
                asyncio.create_task(self._inventory_loop(fetcher)),
                asyncio.create_task(self._chore(_ROLLUP_SECONDS, "rollup", self._rollup)),
                asyncio.create_task(self._chore(_PRUNE_SECONDS, "prune", self._prune)),
                asyncio.create_task(self._chore(_BEAT_SECONDS, "beat", self._beat)),
            ]
            if self._settings.prometheus_address:
                self._source = PrometheusSource(
                    self._settings, self._store, self._writer.put, lambda: self._rules, pulse=self._pulse
                )
                chores.append(asyncio.create_task(self._source.run()))
            await stop.wait()
            for task in (*self._tasks.values(), *chores):
                task.cancel()
            await asyncio.gather(*self._tasks.values(), *chores, return_exceptions=True)
        with contextlib.suppress(TierdeckError):
            self._writer.flush()
        with contextlib.suppress(TierdeckError):
            self._store.sign_off(_NAME, self._instance, time.time())

    def take_config(self, *, at_start: bool = False) -> None:
        """Declare the file's inventory when the file changed; a broken edit leaves the last good one in force."""
        path = self._settings.config_file
        if path is None or not (at_start or self._changed(path)):
            return
        self._changed(path)
        try:
            inventory = read_config(path, self._settings.cluster)
        except UsageError as error:
            if at_start:
                raise
            log.error("configuration_refused", reason=error.line())  # noqa: TRY400  # one line, no traceback
            return
        self._rules = inventory.relabel
        self._store.declare(
            self._settings.cluster, inventory.endpoints, inventory.pools, origin=ORIGIN, actor="collectors"
        )
        log.info("configuration_taken", endpoints=len(inventory.endpoints), pools=len(inventory.pools))

    def _changed(self, path: Path) -> bool:
        try:
            status = path.stat()
        except OSError:
            return False
        seen = (status.st_mtime_ns, status.st_size)
        changed, self._config_seen = seen != self._config_seen, seen
        return changed

    async def _follow_inventory(self, fetcher: Fetcher) -> None:
        """Start tasks of new replicas, end those of replicas that are gone or changed."""
        await asyncio.to_thread(self.take_config)
        wanted = set(await asyncio.to_thread(self._inventory))
        for replica in set(self._tasks) - wanted:
            self._tasks.pop(replica).cancel()
        new = wanted - set(self._tasks)
        looked_at, self._looked_at = self._looked_at, time.time()
        memories = await asyncio.to_thread(self._store.memories, self._settings.cluster) if new else {}
        for replica in new:
            memory = memories.get(replica.key)
            task = ReplicaTask(
                replica, fetcher, self._writer.put, self._settings.scrape_interval_seconds, memory, looked_at
            )
            self._tasks[replica] = asyncio.create_task(_supervised(task))
        metrics.REPLICAS.set(len(self._tasks))

    def _inventory(self) -> list[Replica]:
        cluster = self._settings.cluster
        replicas = [replica for endpoint in self._store.endpoints(cluster) for replica in endpoint.sized_replicas]
        return [replica for replica in (*replicas, *self._store.pools(cluster)) if replica.is_scraped]

    async def _inventory_loop(self, fetcher: Fetcher) -> None:
        while True:
            self._pulse.beat("inventory")
            try:
                await self._follow_inventory(fetcher)
            except TierdeckError as error:
                log.warning("chore_failed", chore="inventory", reason=error.line())
            await asyncio.sleep(_INVENTORY_SECONDS)

    async def _chore(self, seconds: float, name: str, step: Callable[[], object]) -> None:
        """Run a blocking step again and again; a store that is away is logged and tried again."""
        while True:
            self._pulse.beat(name, seconds + _CHORE_SECONDS)
            try:
                await asyncio.to_thread(step)
            except TierdeckError as error:
                log.warning("chore_failed", chore=name, reason=error.line())
            await asyncio.sleep(seconds)

    def _rollup(self) -> None:
        self._store.rollup(time.time(), self._settings.warming)

    def _prune(self) -> None:
        kept = self._settings
        deleted = self._store.prune(
            time.time(),
            kept.retention_seconds,
            event_seconds=kept.event_retention_seconds,
            alert_seconds=kept.alert_retention_seconds,
        )
        if deleted:
            log.info("rows_pruned", rows=deleted)

    def _beat(self) -> None:
        trouble = self._source.trouble if self._source is not None else ""
        self._store.beat(_NAME, self._instance, self._version, self._started_at, time.time(), trouble=trouble)


async def _supervised(task: ReplicaTask) -> None:
    """A fault of ours in one replica's task is logged and costs that replica a pause, never the others."""
    while True:
        try:
            await task.run()
        except Exception:
            log.exception("replica_task_failed", endpoint=task.replica.key.endpoint, replica=task.replica.key.replica)
            await asyncio.sleep(15)
