"""Curvine: master, workers, FUSE clients, and the master's JSON about its workers.

Upstream: CurvineIO/curvine at bff4e7dc (2026-08-21), read in source. Names carry no prefix and are
shared by master and worker, so only the kind of target tells them apart. Counters have no `_total`.
Ports by the Helm chart: master 9000, worker 9001; FUSE 9002 (up to 0.4.1) or 9003.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

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
_BLOCKS = Family(Reading.POOL_BLOCKS, Kind.GAUGE, ("num_blocks",))
MASTER_FAMILIES = (
    *_SPACE,
    _BLOCKS,
    Family(Reading.POOL_FILES, Kind.GAUGE, ("inode_file_num",)),
    *(Family(reading, Kind.GAUGE, ("worker_num",), where={"tag": tag}) for tag, reading in _WORKER_TAGS.items()),
)
WORKER_FAMILIES = (
    *_SPACE,
    _BLOCKS,
    Family(Reading.DATA_DIRS, Kind.GAUGE, ("total_disks",)),
    Family(Reading.FAILED_DIRS, Kind.GAUGE, ("failed_disks",)),
    Family(Reading.WORKER_READ_BYTES, Kind.COUNTER, ("read_bytes",)),
    Family(Reading.WORKER_WRITTEN_BYTES, Kind.COUNTER, ("write_bytes",)),
)
FUSE_FAMILIES = (
    Family(
        Reading.FUSE_ERRORS,
        Kind.COUNTER,
        ("curvine_fuse_errors",),
        unless={"opcode": "Lookup", "errno": "ENOENT"},
        by="errno",
        zero_when_absent=True,
    ),
    Family(Reading.FUSE_REQUESTS, Kind.COUNTER, ("curvine_fuse_requests",), zero_when_absent=True),
    Family(Reading.FUSE_ACTIVE, Kind.GAUGE, ("curvine_fuse_active_requests",)),
    Family(Reading.FUSE_LOCK_WAITS, Kind.GAUGE, ("curvine_fuse_setlkw_inflight",)),
    Family(Reading.FUSE_WAITING, Kind.GAUGE, ("curvine_fuse_reply_queue_depth",)),
    Family(Reading.FUSE_PROGRESS, Kind.GAUGE, ("curvine_fuse_sender_last_progress_unixtime",), by="sender"),
    Family(Reading.FUSE_ATTACHED, Kind.GAUGE, ("curvine_fuse_kernel_fd_health",)),
    Family(Reading.FUSE_READ_BYTES, Kind.COUNTER, ("curvine_fuse_io_bytes",), where={"io_type": "read"}),
    Family(Reading.FUSE_WRITTEN_BYTES, Kind.COUNTER, ("curvine_fuse_io_bytes",), where={"io_type": "write"}),
)

MASTER = TableSource(SourceKind.CURVINE_MASTER, MASTER_FAMILIES)
WORKER = TableSource(SourceKind.CURVINE_WORKER, WORKER_FAMILIES)
FUSE = TableSource(SourceKind.CURVINE_FUSE, FUSE_FAMILIES, engine_label="mnt")


LOST = "Lost"
"""What a worker is called that the master has given up; in its JSON such a one keeps the status that it had last."""


class MasterApi:
    """`/api/workers`: answers even while the master's metadata lock, which /metrics needs, is stuck.

    Each worker's figures have its host as their part; `infos` has its status.
    """

    kind = SourceKind.CURVINE_MASTER_API
    path = "/api/workers"
    ends_with_newline = False
    families: tuple[Family, ...] = ()

    def read(self, text: str, values: Mapping[str, str] | None = None) -> TargetReading | None:
        try:
            document = json.loads(text)
            live, lost = document["live_workers"], document["lost_workers"]
            statuses = [str(worker["status"]) for worker in live]
            reading = TargetReading(recognised=True)
            for total, name in zip(_OF_POOL, _OF_WORKER.values(), strict=True):
                reading.gauges[Key(total)] = sum(_size(worker[name]) for worker in live)
            for worker in live:
                _take(worker, str(worker["status"]), reading)
            for worker in lost:
                _take(worker, LOST, reading)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        counts = {
            Reading.WORKERS_LIVE: statuses.count("Live"),
            Reading.WORKERS_LOST: len(lost),
            Reading.WORKERS_BLACKLISTED: statuses.count("Blacklist"),
            Reading.WORKERS_DECOMMISSIONED: statuses.count("Decommission"),
        }
        reading.gauges |= {Key(name): float(count) for name, count in counts.items()}
        return reading


_OF_POOL = (Reading.POOL_CAPACITY, Reading.POOL_AVAILABLE, Reading.POOL_USED)
_OF_WORKER = {
    Reading.WORKER_CAPACITY: "capacity",
    Reading.WORKER_AVAILABLE: "available",
    Reading.WORKER_USED: "fs_used",
}


def _size(value: Any) -> float:
    """JSON as Python reads it may hold NaN and infinities, which are no size."""
    size = float(value)
    if not math.isfinite(size):
        raise ValueError(f"a size is not {size}")
    return size


def _take(worker: Mapping[str, Any], status: str, reading: TargetReading) -> None:
    """One worker's own figures; one without a host counts in the pool's alone."""
    address = worker.get("address", {})
    host = str(address.get("hostname") or address.get("ip_addr") or "")
    if not host:
        return
    part = host if Key(Reading.WORKER_STATUS, part=host) not in reading.infos else f"{host}:{address.get('rpc_port')}"
    reading.infos[Key(Reading.WORKER_STATUS, part=part)] = {"host": host, "status": status}
    for name, field in _OF_WORKER.items():
        reading.gauges[Key(name, part=part)] = _size(worker[field])
    dirs = worker.get("storage_map")
    if isinstance(dirs, Mapping):
        reading.gauges[Key(Reading.DATA_DIRS, part=part)] = float(len(dirs))
        failed = [one for one in dirs.values() if one.get("failed")]
        reading.gauges[Key(Reading.FAILED_DIRS, part=part)] = float(len(failed))


MASTER_API = MasterApi()
