"""Faults of the shared pool: workers, its mounts, reads, writes, and its master."""

from __future__ import annotations

from lab.sim.fault import Address, BaseFault, FaultTarget
from lab.sim.fleet import Fleet
from lab.sim.workloads.tenants import salt_key, salt_of

_DRIFT_SHARE = 0.2
_SWEEP_SECONDS = 5.0
"""Source: the coordinator's period, seen live with LMCache 0.5.6."""


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
        "LMCache finds tokens in L2 that vLLM does not load: note `found_not_loaded`, misses and TTFT rise, FUSE "
        "errors with EIO; L2 is 0 in truth, while the estimate takes what L1 served for L2's (its bounds reach down "
        "to 0)"
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


class WriteOnlyL2(BaseFault):
    """Chunks are written, and no lookup ever finds one."""

    name = "l2-write-only"
    seen = (
        "stores to L2 go on and complete, and L2 finds nothing while it is asked: its share is 0, what L1 lost is "
        "computed again and stored again, and nothing is in error"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.found = False

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.pool.switches.found = True


class CoordinatorDrift(BaseFault):
    """LMCache's coordinator misses the events of an eviction, and goes on from there."""

    name = "coordinator-drift"
    seen = (
        "the coordinator's directory counts more bytes in L2 than the pool has in use, and the gap grows with each "
        "eviction until the coordinator restarts; tiers are right, since nothing is taken from it"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        for endpoint in fleet.endpoints.values():
            endpoint.heard_until = fleet.pool.evicted_chunks
        fleet.pool.chunks.evict(round(len(fleet.pool.chunks) * _DRIFT_SHARE))

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        for endpoint in fleet.endpoints.values():
            endpoint.heard_until = None


class QuotaConflict(BaseFault):
    """Coordinator and cache servers both enforce a quota of one tenant, and delete what belongs to it."""

    name = "quota-conflict"
    seen = (
        "one tenant's lookups find next to nothing in L1 and L2 while others' do, and evictions go on though there "
        "is room; without tenants it is all requests that carry no salt"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]
        key = salt_key(endpoint.spec.salts[-1])

        def sweep() -> None:
            if self.name not in fleet.faults:
                return
            for number, replica in enumerate(endpoint.replicas):
                replica.cache.l1.discard([chunk for chunk in replica.cache.l1 if salt_of(chunk) == key])
                if number == 0:
                    gone = fleet.pool.remove([chunk for chunk in fleet.pool.chunks if salt_of(chunk) == key])
                    replica.cache_page.evicted_from_l2(gone)
            fleet.timeline.after(_SWEEP_SECONDS, sweep)

        fleet.timeline.after(0.0, sweep)


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
