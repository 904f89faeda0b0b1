"""Curvine's pages: master, workers and FUSE clients, and what the master answers in JSON.

Source: composed samples of Curvine at bff4e7dc; integers, un-prefixed names, counters without `_total`,
series with labels absent until their first event.
"""

from __future__ import annotations

from functools import cache

from lab.sim.exposition.page import Cell, Layout, Page
from lab.sim.exposition.shape import FamilyShape, Labels, Shape, recorded
from lab.sim.mount import Mount
from lab.sim.pool import Pool, Worker

_US = 1_000_000
_WRITE_US_PER_CHUNK = 4_300
_READ_US_PER_CHUNK = 2_200
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

    def render(self, worker: Worker) -> str:
        if worker.started_at != self._started_at:
            self._started_at = worker.started_at
            self.page.restart(worker.started_at)
        _set(self._space, worker.capacity_bytes, worker.available_bytes, worker.used_bytes, worker.blocks)
        calls = worker.blocks_written, worker.blocks_read
        _set(self._moved, worker.written_bytes, 112 * calls[0], calls[0] * _WRITE_US_PER_CHUNK)
        _set(self._read, worker.read_bytes, 112 * calls[1], calls[1] * _READ_US_PER_CHUNK)
        for cell, count in zip(self._blocks, calls, strict=True):
            if count:
                cell.set(count)
        return self.page.render()


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
        self._read_time = self.page.histogram("curvine_fuse_io_duration_us", io_type="read", status="success")
        self._write_time = self.page.histogram("curvine_fuse_io_duration_us", io_type="write", status="success")
        self._seen = [0, 0]

    def render(self, mount: Mount, now: float) -> str:
        _set(self._bytes, mount.read_bytes, mount.written_bytes)
        _set(self._client, mount.read_bytes, mount.written_bytes)
        for cell, count in (
            (self._lookups, mount.looked_up),
            (self._misses, mount.not_there),
            (self._failed, mount.failed_writes + mount.failed_reads),
            (self._writes, 112 * mount.written_chunks),
            (self._reads, 112 * mount.read_chunks),
        ):
            if count:
                cell.set(count)
        self._read_time.observe(440, mount.read_chunks - self._seen[0])
        self._write_time.observe(170, mount.written_chunks - self._seen[1])
        self._seen = [mount.read_chunks, mount.written_chunks]
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
