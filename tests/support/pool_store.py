"""A store with two pools as an operator meets them: one that fills, with a mount that hangs; one that lost a worker."""

from __future__ import annotations

from collections.abc import Iterator

from db import Store
from tests.support.console_store import CLUSTER
from tierdeck.account import Answer, PoolAccount, WarmingLimits
from tierdeck.fleet import POOL, Replica, ReplicaKey, Target
from tierdeck.l2.members import MemberKind, MountFacts, PoolMember, WorkerFacts
from tierdeck.ledger import TokenLedger
from tierdeck.rounds import Round, Scrape

GIB = 2**30
STEP = 60.0
MAIN, SPARE = "nvme", "spare"
LOST_SECONDS = 1200.0
"""How long ago the spare pool's second worker went."""


def fill_pools(url: str, end_at: float, *, minutes: int = 70) -> None:
    """Create the store with a round of each pool a minute; no endpoint."""
    with Store.open(url, migrate=True) as store:
        pools = [Replica(key, (Target(key, "curvine-master", "http://10.3.0.1:9000/metrics"),)) for key in _keys()]
        store.declare(CLUSTER, [], pools, origin="test", actor="a test")
        rounds = []
        for index in range(minutes):
            at = end_at - (minutes - 1 - index) * STEP
            rounds += [_main(at, index, minutes), _spare(at, is_lost=at >= end_at - LOST_SECONDS)]
        store.append(rounds)
        store.beat("collectors", "host-1:4242", "0.1.0", end_at - 100, end_at)
        store.rollup(end_at, WarmingLimits())


def _keys() -> Iterator[ReplicaKey]:
    return (ReplicaKey(CLUSTER, POOL, name) for name in (MAIN, SPARE))


def _main(at: float, index: int, minutes: int) -> Round:
    """1 GiB a minute: with 60 GiB free at the end, that is an hour; 13,172 files and 72 blocks fewer."""
    free = (60 + minutes - 1 - index) * GIB
    account = PoolAccount(
        300.0 * GIB, free, 300.0 * GIB - free - 20 * GIB, 3.0, 0.0, 0.0, 0.0, files=13_172.0, blocks=13_100.0,
        data_dirs=1.0, read_bytes=60.0 * 200 * 2**20 * index, written_bytes=60.0 * 40 * 2**20 * index,
        failed_requests=float(max(0, index - minutes + 6)),
    )  # fmt: skip
    workers = [
        PoolMember(
            MemberKind.WORKER, str(number), "",
            WorkerFacts(f"curvine-worker-{number}.curvine-worker.curvine.svc", "Live", 100.0 * GIB, free / 3,
                        280 * GIB / 3 - free / 3, 1.0, float(number == 2), 4_367.0, 66 * 2.0**20, 13 * 2.0**20),
            address=f"10.3.0.{number + 2}",
        )
        for number in range(3)
    ]  # fmt: skip
    return _round(MAIN, at, account, (*workers, *_mounts(at)))


def _mounts(at: float) -> Iterator[PoolMember]:
    fine = MountFacts(at - 9000, (), None, 0.0, None, 2.0, None, at - 1, True, 50 * 2.0**20, 10 * 2.0**20)
    failing = MountFacts(at - 9000, (("EIO", 5.0), ("ENOSPC", 1.0)), at, 0.0, None, 1.0, None, at - 2, True, 0.0, 0.0)
    hung = MountFacts(at - 9000, (), None, 12.0, at - 300, 13.0, at - 300, at - 310, True, 0.0, 0.0)
    for number, facts in enumerate((fine, failing, hung)):
        yield PoolMember(MemberKind.MOUNT, f"node-{number}", mount=facts, address=f"172.16.0.{number}")
    yield PoolMember(MemberKind.MOUNT, "node-3", "connection refused", address="172.16.0.3")


def _spare(at: float, *, is_lost: bool) -> Round:
    """Nobody scrapes its mounts; two data directories a worker."""
    many = 1 if is_lost else 2
    account = PoolAccount(
        many * 100.0 * GIB, many * 90.0 * GIB, many * 10.0 * GIB, float(many), float(is_lost), 0.0, 0.0,
        files=900.0, blocks=1_600.0, data_dirs=2.0,
    )  # fmt: skip
    workers = [
        PoolMember(
            MemberKind.WORKER, f"w-{number}", "connection refused" if number and is_lost else "",
            WorkerFacts(f"w-{number}", "Lost" if number and is_lost else "Live", 100.0 * GIB, 90.0 * GIB, 10.0 * GIB,
                        2.0, 0.0),
        )
        for number in range(2)
    ]  # fmt: skip
    return _round(SPARE, at, account, tuple(workers))


def _round(name: str, at: float, account: PoolAccount, members: tuple[PoolMember, ...]) -> Round:
    key = ReplicaKey(CLUSTER, POOL, name)
    scrape = Scrape(Target(key, "curvine-master", "http://10.3.0.1:9000/metrics"), at, answered=True)
    return Round(key, at, TokenLedger(at - STEP, at), Answer.NO_ENGINE, (scrape,), pool=account, members=members)
