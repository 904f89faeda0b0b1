"""Curvine's pages: master, workers and FUSE clients, and what the master answers in JSON.

Source: composed samples of Curvine at bff4e7dc; integers, un-prefixed names, counters without `_total`,
series with labels absent until their first event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from lab.sim.exposition.page import Cell, Layout, Observations, Page
from lab.sim.exposition.shape import FamilyShape, Labels, Shape, recorded
from lab.sim.mount import Mount
from lab.sim.pool import Pool, Worker

_US = 1_000_000
_WRITE_US_PER_CHUNK = 4_300
_READ_US_PER_CHUNK = 2_200
_FLUSH_US = 480
_HOST = "curvine-worker-{}.curvine-worker.curvine.svc.cluster.local"


def _labelled(family: FamilyShape, labels: Labels) -> bool:
    return bool(labels) and family.type in ("counter", "histogram")


@cache
def _layout(kind: str) -> Layout:
    return Layout(recorded(kind), late=_labelled)


class MasterPage:
    """The master's figures, which it has from its workers' heartbeats."""

    def __init__(self, started_at: float, workers: int) -> None:
        shape = recorded("curvine-master").without(("compat_client_verdict",))
        self.page = Page(Layout(_with_workers(shape, workers), late=_labelled))
        self.page.restart(started_at)
        cell = self.page.cell
        self._space = {name: cell(name) for name in ("capacity", "available", "fs_used", "num_blocks")}
        self._allocatable = [cell("allocatable_capacity"), cell("allocatable_available")]
        self._average = cell("blocks_size_avg")
        self._files = [cell("inode_file_num"), cell("ttl_total_inodes")]
        self._workers = {tag: cell("worker_num", tag=tag) for tag in ("live", "blacklist", "decommission", "lost")}
        self._journal = [cell(name) for name in ("journal_applied", "journal_committed", "journal_ufs_applied")]
        self._writes = [self.page.histogram("operation_duration", operation=name) for name in _WRITE_OPERATIONS]
        self._reads = self.page.histogram("operation_duration", operation="OpenFile")
        self._flushes = [cell("journal_flush_count"), cell("journal_flush_time")]
        self._rpc = [cell("rpc_request_total_count"), cell("rpc_request_time")]
        self._seen_writes = self._seen_reads = 0

    def render(self, pool: Pool, lost: int) -> str:
        live = pool.live
        used, blocks = sum(worker.used_bytes for worker in live), sum(worker.blocks for worker in live)
        capacity, free = pool.capacity_bytes, sum(worker.available_bytes for worker in live)
        figures = {"capacity": capacity, "available": free, "fs_used": used, "num_blocks": blocks}
        for name, value in figures.items():
            self._space[name].set(value)
        self._allocatable[0].set(capacity)
        self._allocatable[1].set(free)
        if blocks:
            self._average.set(used // blocks)
        for cell in self._files:
            cell.set(blocks)
        counts = {"live": len(live), "lost": lost, "blacklist": len(pool.workers) - len(live) - lost, "decommission": 0}
        for tag, count in counts.items():
            self._workers[tag].set(count)
        writes = sum(worker.blocks_written for worker in pool.workers)
        reads = sum(worker.blocks_read for worker in pool.workers)
        for cell in self._journal:
            cell.set(3 * writes + 7)
        _set(self._flushes, 3 * writes, 3 * writes * _FLUSH_US)
        for operation in self._writes:
            operation.observe(620, max(0, writes - self._seen_writes))
        self._reads.observe(95, max(0, reads - self._seen_reads))
        self._rpc[0].add(4 * max(0, writes - self._seen_writes) + max(0, reads - self._seen_reads))
        self._rpc[1].add(2_500 * max(0, writes - self._seen_writes))
        self._seen_writes, self._seen_reads = writes, reads
        return self.page.render()


_WRITE_OPERATIONS = ("CreateFile", "AddBlock", "CompleteFile", "Rename")


def _with_workers(shape: Shape, workers: int) -> Shape:
    ids = [str(Worker(number, 0, 0.0).id) for number in range(workers)]
    families = []
    for family in shape.families:
        if family.name == "compat_worker_verdict":
            repeated = Shape((family,)).repeated("worker_id", ids).families[0]
            families.append(repeated)
    return shape.plus(families)


class WorkerPage:
    """One worker's disk."""

    def __init__(self, started_at: float) -> None:
        self.page = Page(_layout("curvine-worker"))
        self.page.restart(started_at)
        cell = self.page.cell
        self._started_at = started_at
        self._space = [cell(name) for name in ("capacity", "available", "fs_used", "num_blocks")]
        self._moved = [cell(name) for name in ("write_bytes", "write_count", "write_time_us")]
        self._read = [cell(name) for name in ("read_bytes", "read_count", "read_time_us")]
        self._blocks = [cell("write_blocks", type="remote"), cell("read_blocks", type="remote")]
        self._layout_time = [
            self.page.histogram("file_layout_operation_us", operation=name) for name in ("open", "finalize")
        ]
        self._seen_writes = 0

    def render(self, worker: Worker) -> str:
        if worker.started_at != self._started_at:
            self._started_at, self._seen_writes = worker.started_at, 0
            self.page.restart(worker.started_at)
        _set(self._space, worker.capacity_bytes, worker.available_bytes, worker.used_bytes, worker.blocks)
        calls = worker.blocks_written, worker.blocks_read
        _set(self._moved, worker.written_bytes, _IOS * calls[0], calls[0] * _WRITE_US_PER_CHUNK)
        _set(self._read, worker.read_bytes, _IOS * calls[1], calls[1] * _READ_US_PER_CHUNK)
        for histogram in self._layout_time:
            histogram.observe(260, worker.blocks_written - self._seen_writes)
        self._seen_writes = worker.blocks_written
        for cell, count in zip(self._blocks, calls, strict=True):
            if count:
                cell.set(count)
        return self.page.render()


@dataclass(frozen=True, slots=True)
class _Timed:
    """A histogram of the client, what it observes, and how often for one file."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    times: int = 1
    has_status: bool = True


_IOS = 112
"""Requests of 128 KiB that read or write one chunk of 14 MiB."""


def _request(opcode: str, value: float, times: int = 1) -> _Timed:
    return _Timed("curvine_fuse_request_duration_us", (("opcode", opcode),), value, times)


def _io(kind: str, name: str, value: float, *, has_status: bool = False) -> _Timed:
    return _Timed(f"curvine_fuse_io_{name}", (("io_type", kind),), value, _IOS, has_status)


def _lifecycle(kind: str, value: float) -> _Timed:
    return _Timed("curvine_fuse_stream_lifecycle_duration_us", (("io_type", kind),), value, has_status=False)


_TIMED: dict[str, tuple[_Timed, ...]] = {
    "lookup": (
        _request("Lookup", 210),
        _Timed("curvine_fuse_operation_duration_us", (("opcode", "Lookup"),), 180),
        _Timed("client_metadata_operation_duration", (("operation", "GetStatus"),), 150, has_status=False),
    ),
    "read": (
        _request("Open", 320),
        _request("Read", 470, _IOS),
        _request("Release", 60),
        _io("read", "duration_us", 440, has_status=True),
        _io("read", "dispatch_duration_us", 12),
        _io("read", "size_bytes", 131_072),
        _lifecycle("release", 40),
    ),
    "write": (
        _request("Create", 900),
        _request("Write", 190, _IOS),
        _request("Rename2", 700),
        _request("Flush", 1_900),
        _io("write", "duration_us", 170, has_status=True),
        _io("write", "dispatch_duration_us", 10),
        _io("write", "size_bytes", 131_072),
        _lifecycle("flush", 1_800),
        _Timed("client_metadata_operation_duration", (("operation", "Rename"),), 620, has_status=False),
    ),
}
"""What happens to a file of one chunk, in microseconds or bytes; of the size that the recorded pages show."""


class FusePage:
    """One FUSE client."""

    def __init__(self, started_at: float) -> None:
        self.page = Page(_layout("curvine-fuse"))
        self.page.restart(started_at)
        cell = self.page.cell
        ok = {"path_type": "curvine", "status": "success"}
        self._bytes = [
            cell("curvine_fuse_io_bytes_total", io_type="read", **ok),
            cell("curvine_fuse_io_bytes_total", io_type="write", **ok),
        ]
        self._client = [cell("client_read_bytes"), cell("client_write_bytes")]
        self._lookups = cell("curvine_fuse_requests_total", opcode="Lookup", status="success")
        self._misses = cell("curvine_fuse_errors_total", opcode="Lookup", errno="ENOENT")
        self._failed = cell("curvine_fuse_errors_total", opcode="Write", errno="EIO")
        self._writes = cell("curvine_fuse_requests_total", opcode="Write", status="success")
        self._reads = cell("curvine_fuse_requests_total", opcode="Read", status="success")
        self._active = [cell("curvine_fuse_active_requests", kind=kind) for kind in ("metadata", "stream")]
        self._in_flight = [cell("curvine_fuse_stream_io_inflight", io_type=kind) for kind in ("read", "write")]
        self._depth = cell("curvine_fuse_reply_queue_depth")
        self._progress = [cell("curvine_fuse_sender_last_progress_unixtime", sender=str(sender)) for sender in range(4)]
        self._io = [
            cell("curvine_fuse_io_requests_total", io_type=kind, path_type="curvine", status="success")
            for kind in ("read", "write")
        ]
        self._answered = cell("curvine_fuse_response_bytes_total", opcode="Read", request_status="success")
        self._timed = {what: [self._observed(each) for each in timings] for what, timings in _TIMED.items()}
        self._seen = dict.fromkeys(_TIMED, 0)

    def _observed(self, timing: _Timed) -> tuple[Observations, float, int]:
        labels = dict(timing.labels, status="success") if timing.has_status else dict(timing.labels)
        return self.page.histogram(timing.name, **labels), timing.value, timing.times

    def render(self, mount: Mount, now: float) -> str:
        _set(self._bytes, mount.read_bytes, mount.written_bytes)
        _set(self._client, mount.read_bytes, mount.written_bytes)
        for cell, count in (
            (self._lookups, mount.looked_up),
            (self._misses, mount.not_there),
            (self._failed, mount.failed_writes + mount.failed_reads),
            (self._writes, _IOS * mount.written_chunks),
            (self._reads, _IOS * mount.read_chunks),
            (self._io[0], _IOS * mount.read_chunks),
            (self._io[1], _IOS * mount.written_chunks),
            (self._answered, mount.read_bytes),
        ):
            if count:
                cell.set(count)
        done = {"lookup": mount.looked_up, "read": mount.read_chunks, "write": mount.written_chunks}
        for what, count in done.items():
            for histogram, value, each in self._timed[what]:
                histogram.observe(value, each * (count - self._seen[what]))
        self._seen = done
        _set(self._active, min(1, mount.stuck), mount.stuck)
        _set(self._in_flight, mount.stuck, 0)
        self._depth.set(mount.stuck)
        for cell in self._progress:
            cell.set(int(now if mount.stuck_since is None else mount.stuck_since))
        return self.page.render()


def workers_document(pool: Pool, now: float) -> dict[str, object]:
    """What `/api/workers` answers."""
    return {
        "live_workers": [_worker(worker, now, "Live") for worker in pool.live],
        "lost_workers": [_worker(worker, now, "Blacklist") for worker in pool.workers if not worker.alive],
    }


def overview_document(pool: Pool, started_at: float) -> dict[str, object]:
    """What `/api/overview` answers."""
    used = sum(worker.used_bytes for worker in pool.live)
    return {
        "cluster_id": "curvine",
        "master_addr": "curvine-master-0.curvine-master.curvine.svc.cluster.local:8995",
        "start_time": int(started_at * 1000),
        "live_workers": len(pool.live),
        "lost_workers": len(pool.workers) - len(pool.live),
        "available": sum(worker.available_bytes for worker in pool.live),
        "capacity": pool.capacity_bytes,
        "fs_used": used,
        "reserved_bytes": 0,
        "files_total": sum(worker.blocks for worker in pool.live),
        "dir_total": 2,
        "master_state": "Leader",
    }


def _worker(worker: Worker, now: float, status: str) -> dict[str, object]:
    space = {
        "capacity": worker.capacity_bytes,
        "available": worker.available_bytes,
        "fs_used": worker.used_bytes,
        "non_fs_used": worker.foreign_bytes,
        "reserved_bytes": 0,
        "block_num": worker.blocks,
    }
    host = _HOST.format(worker.number)
    address = {"worker_id": worker.id, "hostname": host, "ip_addr": host, "rpc_port": 8997, "web_port": 9001}
    return {
        "address": address,
        "weight": 1,
        "software_version": "0.2.0",
        "startup_time_ms": int(worker.started_at * 1000),
        "last_update": int(now * 1000),
        "storage_map": {str(worker.number): {**space, "failed": False, "storage_type": "Ssd", "dir_path": "/data"}},
        "status": status,
        **space,
    }


def _set(cells: list[Cell], *values: float) -> None:
    for cell, value in zip(cells, values, strict=True):
        cell.set(value)
