"""Faults of the shared pool: workers, its mounts, reads, writes, and its master."""

from __future__ import annotations

from lab.sim.fault import Address, BaseFault, FaultTarget
from lab.sim.fleet import Fleet


class WorkerLoss(BaseFault):
    """The node of the first worker is gone."""

    name = "worker-loss"
    seen = (
        "one worker's page refuses connections, the master counts it as `blacklist` and after ten minutes as `lost`; "
        "the pool's capacity falls by its share, and L2's share of tokens by what it held"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.lose(0)
        fleet.lost_at[0] = fleet.timeline.now

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.return_worker(0, fleet.timeline.wall())
        fleet.lost_at.pop(0, None)


class UnreadableL2(BaseFault):
    """Chunks are listed, and reading them fails."""

    name = "l2-unreadable"
    seen = (
        "LMCache finds tokens in L2 that vLLM does not load: note `found_not_loaded`, L2 is 0, misses and TTFT rise, "
        "FUSE errors with EIO"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.readable = False

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.readable = True


class FuseHang(BaseFault):
    """No file operation on any mount comes back."""

    name = "fuse-hang"
    seen = (
        "requests that need L2 take 20 s longer, L2 is 0; FUSE: reply queue and active requests grow, senders make "
        "no progress, kernel_fd_health stays 1; stores to L2 are submitted and neither complete nor fail"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.hung = True

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.hung = False
        for endpoint in fleet.endpoints.values():
            for replica in endpoint.replicas:
                replica.mount.recover()


class FullPool(BaseFault):
    """The pool is full, and nothing makes room: Curvine evicts nothing by itself."""

    name = "full-pool"
    seen = (
        "the pool has nothing available, FUSE writes fail with EIO (not ENOSPC), note `stores_incomplete`; what is "
        "in L2 is still served, new prompts never get there"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.fill()
        fleet.pool.switches.writes = "full"

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.free()
        fleet.pool.switches.writes = "ok"


class SilentWrites(BaseFault):
    """Writes to L2 end without anything written."""

    name = "l2-writes-lost"
    seen = (
        "stores are submitted and none completes (note `stores_incomplete`), though every store request ends, no "
        "error is counted, and health checks are good; L2's share falls as its content ages"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.writes = "lost"

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.writes = "ok"


class MasterStall(BaseFault):
    """The master's metadata lock is stuck."""

    name = "master-stall"
    seen = (
        "the master's /metrics and /api/overview hang while /api/workers answers: the pool's figures go on from there"
    )

    def silences(self, address: Address, target: FaultTarget) -> bool:
        return address[2] == "curvine-master"


class FuseError(BaseFault):
    """A FUSE client can't gather its metrics."""

    name = "fuse-metrics-error"
    seen = "FUSE pages answer 200 with `Error: …` as body: the target is reached, and has no counts"

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        return "Error: failed to gather metrics" if address[2].startswith("curvine-fuse") else text
