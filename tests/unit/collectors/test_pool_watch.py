"""A pool from round to round: which worker is which, what a mount does, and what goes through."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tierdeck.fleet import POOL, Replica, ReplicaKey, Target
from tierdeck.l2.members import MemberKind, PoolMember
from tierdeck.rounds import Round, Scrape

KEY = ReplicaKey("east", POOL, "nvme")
T0 = 1_800_000_000.0
WORKER = (
    "capacity 100\navailable 40\nfs_used 60\nnum_blocks 6\ntotal_disks {dirs}\nfailed_disks 0\n"
    "read_bytes {read}\nwrite_bytes 50\n"
)
MASTER = 'capacity 200\navailable 80\nfs_used 120\nnum_blocks 12\ninode_file_num 15\nworker_num{tag="live"} 2\n'
STANDBY = 'capacity 0\navailable 0\nfs_used 0\nnum_blocks 0\ninode_file_num 15\nworker_num{tag="live"} 0\n'


def fuse(requests: int = 10, active: int = 0, waiting: int = 0, sent_at: float = T0, *more: str) -> str:
    lines = [
        f"process_start_time_seconds {T0 - 3600:.0f}",
        f'curvine_fuse_requests_total{{opcode="Read",status="success"}} {requests}',
        f'curvine_fuse_active_requests{{kind="stream"}} {active}',
        f"curvine_fuse_reply_queue_depth {waiting}",
        f'curvine_fuse_sender_last_progress_unixtime{{mnt="/mnt/curvine",sender="0"}} {sent_at:.0f}',
        f'curvine_fuse_sender_last_progress_unixtime{{mnt="/mnt/curvine",sender="1"}} {sent_at - 5:.0f}',
        "curvine_fuse_kernel_fd_health 1",
        *more,
    ]
    return "\n".join([*lines, ""])


def moved(read: int, written: int) -> tuple[str, ...]:
    return (
        f'curvine_fuse_io_bytes_total{{io_type="read",status="success"}} {read}',
        f'curvine_fuse_io_bytes_total{{io_type="write",status="success"}} {written}',
    )


def api(status: str = "Live", lost: bool = False, dirs: int = 1) -> str:
    def worker(number: int, word: str) -> dict[str, object]:
        address = {"hostname": f"curvine-worker-{number}.curvine-worker.curvine.svc", "rpc_port": 8997}
        storage = {str(one): {"failed": one == 1} for one in range(dirs)}
        return {"address": address, "status": word, "storage_map": storage} | {
            "capacity": 100, "available": 40, "fs_used": 60
        }  # fmt: skip

    two = worker(1, status)
    return json.dumps(
        {"live_workers": [worker(0, "Live")] + ([] if lost else [two]), "lost_workers": [two] if lost else []}
    )


class Watched:
    """One pool, round after round."""

    def __init__(self, *names: str, memory: Mapping[str, object] | None = None) -> None:
        self._targets = [Target(KEY, name, f"http://10.0.0.{number}:9000") for number, name in enumerate(names, 1)]
        self._accountant = ReplicaAccountant(Replica(KEY, tuple(self._targets)), memory)

    def round(self, at: float, *bodies: str) -> Round:
        """An empty body: that target refuses connections."""
        answers = {}
        for target, body in zip(self._targets, bodies, strict=True):
            reading, reason = interpret(BY_KIND[target.kind], body) if body else (None, "connection refused")
            answers[target.name] = Answered(Scrape(target, at, bool(body), reason), reading)
        return self._accountant.feed(at, answers)


def of(one: Round, kind: MemberKind) -> dict[str, PoolMember]:
    return {member.name: member for member in one.members if member.kind is kind}


def test_a_worker_that_is_scraped_is_the_master_s_by_the_number_of_its_pod() -> None:
    deck = Watched("curvine-master-api", "curvine-worker.0", "curvine-worker.1")
    page = WORKER.format(dirs=1, read=0)
    deck.round(T0, api(), page, page)
    one = deck.round(T0 + 10, api(lost=True), WORKER.format(dirs=1, read=500), "")
    first, second = of(one, MemberKind.WORKER).values()
    assert first.worker is not None
    assert second.worker is not None
    assert (first.name, first.address, first.worker.status) == ("0", "10.0.0.2", "Live")
    assert (first.worker.read_rate, first.worker.written_rate) == (50.0, 0.0)  # 500 bytes in 10 seconds
    # its own page is gone, and the master tells what it knew last
    assert (second.worker.status, second.reason) == ("Lost", "connection refused")
    assert (second.worker.used_bytes, second.worker.read_rate) == (60.0, None)


def test_workers_that_nobody_scrapes_are_known_by_the_master_and_remembered_while_it_is_silent() -> None:
    deck = Watched("curvine-master-api", "curvine-fuse.a")
    one = deck.round(T0, api(status="Blacklist", dirs=2), fuse())
    hosts = [f"curvine-worker-{number}.curvine-worker.curvine.svc" for number in (0, 1)]
    found = of(one, MemberKind.WORKER)
    assert list(found) == hosts
    told = [member.worker for member in found.values() if member.worker is not None]
    assert [(worker.status, worker.disks, worker.failed_disks) for worker in told] == [
        ("Live", 2.0, 1.0),
        ("Blacklist", 2.0, 1.0),
    ]
    assert one.pool is not None
    assert one.pool.data_dirs == 2.0
    silent = of(deck.round(T0 + 15, "", fuse()), MemberKind.WORKER)
    assert list(silent) == hosts
    assert {member.reason for member in silent.values()} == {"the master's list of workers was not read"}


def test_files_and_blocks_are_those_of_the_master_that_leads() -> None:
    deck = Watched("curvine-master.0", "curvine-master.1", "curvine-worker.0")
    pool = deck.round(T0, STANDBY, MASTER, WORKER.format(dirs=1, read=0)).pool
    assert pool is not None
    assert (pool.files, pool.blocks, pool.data_dirs) == (15.0, 12.0, 1.0)
    silent = deck.round(T0 + 15, "", "", WORKER.format(dirs=1, read=0)).pool
    assert silent is not None
    assert (silent.files, silent.blocks) == (None, None)


def test_what_went_through_the_mounts_grows_over_restarts_and_is_not_told_while_none_answers() -> None:
    deck = Watched("curvine-fuse.a", "curvine-fuse.b", "curvine-worker.0")
    page = WORKER.format(dirs=1, read=10**9)
    eio = 'curvine_fuse_errors_total{{opcode="Write",errno="EIO"}} {}'
    miss = 'curvine_fuse_errors_total{opcode="Lookup",errno="ENOENT"} 999'
    first = deck.round(T0, fuse(10, 0, 0, T0, *moved(1000, 100), miss), fuse(), page).pool
    assert first is not None
    assert (first.read_bytes, first.written_bytes, first.failed_requests) == (0.0, 0.0, 0.0)
    two = deck.round(T0 + 15, fuse(11, 0, 0, T0, *moved(1600, 100), miss, eio.format(3)), "", page)
    assert two.pool is not None
    # 600 more by the one that answers; lookups of what is not there are misses of the cache, not errors
    assert (two.pool.read_bytes, two.pool.failed_requests) == (600.0, 3.0)
    mount = of(two, MemberKind.MOUNT)["a"].mount
    assert mount is not None
    assert (mount.errors, mount.failed_at, mount.read_rate) == ((("EIO", 3.0),), T0 + 15, 40.0)
    none = deck.round(T0 + 30, "", "", page).pool
    assert none is not None
    assert none.read_bytes is None
    restarted = fuse(1, 0, 0, T0, *moved(200, 0)).replace(f"{T0 - 3600:.0f}", f"{T0 + 40:.0f}")
    later = deck.round(T0 + 60, restarted, fuse(), page)
    assert later.pool is not None
    assert later.pool.read_bytes == 800.0  # a new process counts from 0
    again = of(later, MemberKind.MOUNT)["a"].mount
    assert again is not None
    assert (again.errors, again.failed_at) == ((), T0 + 15)


def test_without_mounts_the_workers_count_and_nobody_counts_errors() -> None:
    deck = Watched("curvine-worker.0")
    deck.round(T0, WORKER.format(dirs=1, read=0))
    pool = deck.round(T0 + 15, WORKER.format(dirs=1, read=300)).pool
    assert pool is not None
    assert (pool.read_bytes, pool.written_bytes, pool.failed_requests) == (300.0, 0.0, None)


def test_a_mount_that_answers_nothing_is_known_since_when_also_by_the_next_collector() -> None:
    deck = Watched("curvine-fuse.a")
    busy = of(deck.round(T0, fuse(10, 2)), MemberKind.MOUNT)["a"].mount
    assert busy is not None
    assert (busy.active, busy.idle_since, busy.waiting_since, busy.is_attached) == (2.0, T0, None, True)
    assert busy.progress_at == T0 - 5  # of the sender that is furthest behind
    deck.round(T0 + 15, fuse(11, 2))  # one was answered
    last = deck.round(T0 + 30, fuse(11, 3, 1))
    next_one = Watched("curvine-fuse.a", memory=json.loads(json.dumps(last.memory)))
    hung = of(next_one.round(T0 + 90, fuse(11, 4, 2)), MemberKind.MOUNT)["a"].mount
    assert hung is not None
    assert (hung.idle_since, hung.waiting_since) == (T0 + 15, T0 + 30)
    # after a longer time nobody knows what happened meanwhile
    unknown = of(next_one.round(T0 + 300, fuse(11, 4, 2)), MemberKind.MOUNT)["a"].mount
    assert unknown is not None
    assert (unknown.idle_since, unknown.waiting_since) == (T0 + 300, T0 + 300)


def test_a_request_that_waits_for_a_file_lock_hangs_nothing() -> None:
    deck = Watched("curvine-fuse.a")
    mount = of(deck.round(T0, fuse(10, 1, 0, T0, "curvine_fuse_setlkw_inflight 1")), MemberKind.MOUNT)["a"].mount
    assert mount is not None
    assert (mount.active, mount.idle_since) == (0.0, None)


def test_a_client_that_counts_no_requests_is_not_taken_for_one_that_answers_none() -> None:
    deck = Watched("curvine-fuse.a")
    page = 'curvine_fuse_active_requests{kind="metadata"} 3\ncurvine_fuse_kernel_fd_health 1\n'
    for number in range(8):
        mount = of(deck.round(T0 + 15 * number, page), MemberKind.MOUNT)["a"].mount
        assert mount is not None
        assert (mount.active, mount.answered, mount.idle_since) == (3.0, None, None)


@pytest.mark.parametrize("size", ["NaN", "Infinity", "-Infinity", '"nan"', "1e999"])
def test_a_size_that_is_no_number_makes_the_master_s_list_unreadable(size: str) -> None:
    one = Watched("curvine-master-api").round(T0, api().replace('"available": 40', f'"available": {size}'))
    assert one.pool is not None
    assert (one.pool.capacity_bytes, one.pool.reason) == (
        None, "no Curvine master answered, nor did all configured workers"
    )  # fmt: skip


def test_targets_that_are_no_pool_s_have_neither_pool_nor_members() -> None:
    deck = Watched("router")
    one = deck.round(T0, "vllm_router_requests_total 1\n")
    assert (one.pool, one.members) == (None, ())
    assert one.memory["pool"] == {}
