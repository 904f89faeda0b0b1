"""Faults of processes: engines and cache servers that restart, freeze or go, pages that come late."""

from __future__ import annotations

from lab.sim.engine import CacheServer
from lab.sim.fault import Address, BaseFault, FaultTarget, is_engine
from lab.sim.fleet import Fleet

ENGINE_GIVES_UP_SECONDS = 300.0
"""Source: seen live with vLLM 0.32.0, `lmcache.mp.mq_timeout`'s default."""
SLOW_SECONDS = 12.0


class ReplicaRestart(BaseFault):
    """All processes of one pod end and come back."""

    name = "replica-restart"
    seen = (
        "the replica is `down` for its start, then `warming`: note `restarted`, counters from 0, L0 and L1 empty, "
        "its tokens come from L2 or are computed until the tiers have filled again"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).restart()


class CacheServerFrozen(BaseFault):
    """The cache server is stopped (SIGSTOP)."""

    name = "cache-server-frozen"
    seen = (
        "the cache server's page hangs; requests wait as `deferred` for 18 s, then the engine goes on without it: "
        "external hits stand still, L1 and L2 are 0, misses rise, vLLM's health stays good"
    )
    state = CacheServer.FROZEN

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).set_cache_server(self.state)

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.replica(target).set_cache_server(CacheServer.OK)


class CacheServerGone(CacheServerFrozen):
    """The cache server was killed with a store in flight."""

    name = "cache-server-gone"
    seen = (
        "the cache server's page refuses connections; every request waits as `deferred` with nothing running, "
        "vLLM's health stays good, and after 5 minutes the engine gives up and restarts"
    )
    state = CacheServer.GONE

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        super().on(fleet, target)
        replica = fleet.replica(target)

        def gives_up() -> None:
            if replica.cache_server is CacheServer.GONE:
                replica.restart()

        fleet.timeline.after(ENGINE_GIVES_UP_SECONDS, gives_up)


class SlowScrape(BaseFault):
    """An engine under load takes long to answer its metrics."""

    name = "slow-scrape"
    seen = (
        "the replica's vLLM page takes 12 s, longer than the usual scrape timeout: failed scrapes, note "
        "`scrape_gap`, state `stale`; no figure turns to 0"
    )

    def delay_seconds(self, address: Address, target: FaultTarget) -> float:
        return SLOW_SECONDS if is_engine(address, target) else 0.0


class L0Wiped(BaseFault):
    """Somebody calls /reset_prefix_cache again and again; the router goes on sending there."""

    name = "l0-wiped"
    seen = (
        "one replica's L0 share falls while its share of requests stays: nothing restarted, L1 and L2 take over "
        "what its L0 had"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        replica = fleet.replica(target)

        def wipe() -> None:
            replica.drop_l0()
            if self.name in fleet.faults:
                fleet.timeline.after(1.0, wipe)

        fleet.timeline.after(0.0, wipe)
