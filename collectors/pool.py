"""The shared pool's gauges, from whichever Curvine target can tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from collectors.source import TargetReading
from tierdeck.account import PoolAccount
from tierdeck.fleet import SourceKind
from tierdeck.l2.mounts import MountReading
from tierdeck.readings import Reading

_MASTERS = (SourceKind.CURVINE_MASTER, SourceKind.CURVINE_MASTER_API)

CURVINE = (*_MASTERS, SourceKind.CURVINE_WORKER, SourceKind.CURVINE_FUSE)


def pool_account(kinds: Mapping[str, SourceKind], readings: Mapping[str, TargetReading]) -> PoolAccount | None:
    """One pool from the Curvine targets among these.

    Args:
        kinds: kind of each target by name.
        readings: of those that answered.

    None where no Curvine target is configured; figures are None, with a reason, where none answered.

    The masters' word counts first: standby masters answer with zeros, so the one that knows most
    workers is taken. Without a master the workers' sums stand in.
    """
    if not any(kind in CURVINE for kind in kinds.values()):
        return None
    for kind in _MASTERS:
        masters = [reading for name, reading in readings.items() if kinds.get(name) is kind]
        if masters:
            return _of_master(max(masters, key=_knowledge))
    workers = [reading for name, reading in readings.items() if kinds.get(name) is SourceKind.CURVINE_WORKER]
    known = [name for name, kind in kinds.items() if kind is SourceKind.CURVINE_WORKER]
    if workers and len(workers) == len(known):
        return PoolAccount(
            capacity_bytes=_sum(workers, Reading.POOL_CAPACITY),
            available_bytes=_sum(workers, Reading.POOL_AVAILABLE),
            used_bytes=_sum(workers, Reading.POOL_USED),
            live=float(len(workers)),
        )
    return PoolAccount(reason="no Curvine master answered, nor did all configured workers")


def mounts_of(kinds: Mapping[str, SourceKind], readings: Mapping[str, TargetReading], at: float) -> list[MountReading]:
    """What the FUSE clients among these targets tell of their mounts.

    Args:
        readings: of those that answered at `at`.
    """
    return [
        MountReading(
            name,
            at,
            reading.gauge(Reading.FUSE_ACTIVE),
            reading.gauge(Reading.FUSE_QUEUED),
            min((value for key, value in reading.gauges.items() if key.reading is Reading.FUSE_PROGRESS), default=None),
            _total(reading, Reading.FUSE_REQUESTS),
        )
        for name, reading in sorted(readings.items())
        if kinds.get(name) is SourceKind.CURVINE_FUSE and reading.recognised
    ]


def _total(reading: TargetReading, counter: Reading) -> float | None:
    values = [value for key, value in reading.counters.items() if key.reading is counter]
    return sum(values) if values else None


def _of_master(master: TargetReading) -> PoolAccount:
    return PoolAccount(
        capacity_bytes=master.gauge(Reading.POOL_CAPACITY),
        available_bytes=master.gauge(Reading.POOL_AVAILABLE),
        used_bytes=master.gauge(Reading.POOL_USED),
        live=master.gauge(Reading.WORKERS_LIVE),
        lost=master.gauge(Reading.WORKERS_LOST),
        blacklisted=master.gauge(Reading.WORKERS_BLACKLISTED),
        decommissioned=master.gauge(Reading.WORKERS_DECOMMISSIONED),
    )


def _knowledge(master: TargetReading) -> tuple[float, float]:
    workers = (master.gauge(Reading.WORKERS_LIVE) or 0.0) + (master.gauge(Reading.WORKERS_LOST) or 0.0)
    return workers, master.gauge(Reading.POOL_CAPACITY) or 0.0


def _sum(readings: Iterable[TargetReading], gauge: Reading) -> float | None:
    values = [reading.gauge(gauge) for reading in readings]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
