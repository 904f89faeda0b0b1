"""Curvine: master, workers, FUSE clients, and the master's JSON about its workers.

Upstream: CurvineIO/curvine at bff4e7dc (2026-08-21), read in source. Names carry no prefix and are
shared by master and worker, so only the kind of target tells them apart. Counters have no `_total`.
Ports by the Helm chart: master 9000, worker 9001; FUSE 9002 (up to 0.4.1) or 9003.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from collectors.source import Family, Key, Kind, TargetReading
from collectors.sources.plain import TableSource
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

_SPACE = (
    Family(Reading.POOL_CAPACITY, Kind.GAUGE, ("capacity",)),
    Family(Reading.POOL_AVAILABLE, Kind.GAUGE, ("available",)),
    Family(Reading.POOL_USED, Kind.GAUGE, ("fs_used",)),
)
_WORKER_TAGS = {
    "live": Reading.WORKERS_LIVE,
    "lost": Reading.WORKERS_LOST,
    "blacklist": Reading.WORKERS_BLACKLISTED,
    "decommission": Reading.WORKERS_DECOMMISSIONED,
}
MASTER_FAMILIES = (
    *_SPACE,
    *(Family(reading, Kind.GAUGE, ("worker_num",), where={"tag": tag}) for tag, reading in _WORKER_TAGS.items()),
)
FUSE_FAMILIES = (
    Family(
        Reading.FUSE_ERRORS,
        Kind.COUNTER,
        ("curvine_fuse_errors",),
        unless={"opcode": "Lookup", "errno": "ENOENT"},
    ),
    Family(Reading.FUSE_READ_BYTES, Kind.COUNTER, ("curvine_fuse_io_bytes",), where={"io_type": "read"}),
    Family(Reading.FUSE_WRITTEN_BYTES, Kind.COUNTER, ("curvine_fuse_io_bytes",), where={"io_type": "write"}),
    Family(Reading.FUSE_REQUESTS, Kind.COUNTER, ("curvine_fuse_requests",)),
    Family(Reading.FUSE_ACTIVE, Kind.GAUGE, ("curvine_fuse_active_requests",)),
    Family(Reading.FUSE_QUEUED, Kind.GAUGE, ("curvine_fuse_reply_queue_depth",)),
    Family(Reading.FUSE_PROGRESS, Kind.GAUGE, ("curvine_fuse_sender_last_progress_unixtime",), by="sender"),
)

MASTER = TableSource(SourceKind.CURVINE_MASTER, MASTER_FAMILIES)
WORKER = TableSource(SourceKind.CURVINE_WORKER, _SPACE)
FUSE = TableSource(SourceKind.CURVINE_FUSE, FUSE_FAMILIES)


class MasterApi:
    """`/api/workers`: answers even while the master's metadata lock, which /metrics needs, is stuck."""

    kind = SourceKind.CURVINE_MASTER_API
    path = "/api/workers"
    ends_with_newline = False
    families: tuple[Family, ...] = ()

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        try:
            document = json.loads(text)
            live, lost = document["live_workers"], document["lost_workers"]
            statuses = [str(worker["status"]) for worker in live]
            space = {
                Reading.POOL_CAPACITY: sum(float(worker["capacity"]) for worker in live),
                Reading.POOL_AVAILABLE: sum(float(worker["available"]) for worker in live),
                Reading.POOL_USED: sum(float(worker["fs_used"]) for worker in live),
            }
        except (ValueError, KeyError, TypeError):
            return None
        counts = {
            Reading.WORKERS_LIVE: statuses.count("Live"),
            Reading.WORKERS_LOST: len(lost),
            Reading.WORKERS_BLACKLISTED: statuses.count("Blacklist"),
            Reading.WORKERS_DECOMMISSIONED: statuses.count("Decommission"),
        }
        gauges = {Key(reading): float(value) for reading, value in {**space, **counts}.items()}
        return TargetReading(gauges=gauges, recognised=True)


MASTER_API = MasterApi()
