"""Faults of processes: engines and cache servers that restart, freeze or go, pages that come late."""

from __future__ import annotations

import re

from lab.sim.cache_server import CacheServer
from lab.sim.engine import LOOKUP_TIMEOUT_SECONDS, SimReplica
from lab.sim.fault import Address, BaseFault, FaultTarget, is_cache, is_engine
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.spec import Form
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET

ENGINE_GIVES_UP_SECONDS = 300.0
"""Source: seen live with vLLM 0.32.0, `lmcache.mp.mq_timeout`'s default."""
SLOW_SECONDS = 12.0
_WITHOUT_WORKER_SECONDS = 60.0
_PREEMPTS_EVERY_SECONDS = 2.0
_BURST_SHARE = 0.6
_BURST_TO_CRASH_SECONDS = 10.0
_ALIVE = re.compile(
    r"^(?:# \w+ )?(?:python_|process_|lmcache:(?:local_cpu_(?:hot_cache|keys)|kv_msg|remote_put_task|pin_monitor"
    r"|lmcache_is_healthy|get_blocking|put_failed|storage_events|chunk_statistics|scheduler|connector|periodic)).*\n",
    re.MULTILINE,
)
"""What an LMCache that did not start exports. Source: recorded, LMCache 0.5.6: gauges, and no counter of requests."""
_HEALTH = re.compile(r"^(lmcache:lmcache_is_healthy\{.*\}) .*$", re.MULTILINE)


def embedded(fleet: Fleet, target: FaultTarget) -> SimReplica:
    """The replica that a target names, which has LMCache inside vLLM.

    Raises:
        UsageError: it has not.
    """
    replica = fleet.replica(target)
    if replica.form is Form.MULTI_PROCESS:
        inside = [
            each.name
            for endpoint in fleet.endpoints.values()
            for each in endpoint.replicas
            if each.form is not Form.MULTI_PROCESS
        ]
        hint = f"Replicas that have: {', '.join(inside)}." if inside else "No replica of this fleet has."
        raise UsageError(f"{replica.name} has no LMCache inside vLLM", hint)
    return replica


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


class EmbeddedNeverStarted(BaseFault):
    """LMCache inside vLLM fails to start; vLLM goes on, and waits for each lookup."""

    name = "embedded-init-failed"
    seen = (
        "after a restart every request takes 3 s longer, external queries rise and external hits stay 0, so that L1 "
        "and L2 are 0; LMCache's page has gauges and no counters, and counts as not read; vLLM's health stays good"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        self._restart(embedded(fleet, target), CacheServer.NEVER_STARTED, LOOKUP_TIMEOUT_SECONDS)

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        self._restart(embedded(fleet, target), CacheServer.OK, -LOOKUP_TIMEOUT_SECONDS)

    def _restart(self, replica: SimReplica, state: CacheServer, held_seconds: float) -> None:
        replica.restart()
        replica.set_cache_server(state)
        replica.held_seconds += held_seconds

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if not is_cache(address, target):
            return text
        return _HEALTH.sub(r"\1 0.0", "".join(match[0] for match in _ALIVE.finditer(text)))


class CacheMetricsPushed(BaseFault):
    """LMCache sends its metrics elsewhere (OTLP), or its port for them is off."""

    name = "cache-metrics-pushed"
    seen = (
        "the cache's page answers 404: vLLM's figures go on, L1 and L2 are told together only (note `unsplit`), and "
        "nothing tells what was found and not loaded"
    )

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if is_cache(address, target):
            raise NoAnswerError("metrics are pushed", status=404)
        return text


class NodeReplaced(BaseFault):
    """A node goes, and with it a pod and a worker of the pool; both come back elsewhere, the pod under a new name."""

    name = "node-replaced"
    seen = (
        "the pod's old name stays `down`, a new one appears that counts from 0 with cold tiers, and no figure falls; "
        "the pool lacks one worker for a minute, and what it held for good"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]
        endpoint.replace(fleet.replica(target))
        fleet.pool.lose(0)
        fleet.lost_at[0] = fleet.timeline.now

        def comes_back() -> None:
            if "worker-loss" not in fleet.faults:
                fleet.pool.return_worker(0, fleet.timeline.wall())
                fleet.lost_at.pop(0, None)

        fleet.timeline.after(_WITHOUT_WORKER_SECONDS, comes_back)


class EvictionCrash(BaseFault):
    """Many chunks leave L2 at once, and an engine that was about to load some of them ends."""

    name = "eviction-crash"
    seen = (
        "the pool's use falls steeply, and seconds later one engine restarts (note `restarted`): no size, no strategy "
        "and no image changed"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        gone = fleet.pool.chunks.evict(round(len(fleet.pool.chunks) * _BURST_SHARE))
        fleet.endpoints[target.endpoint].replicas[-1].cache_page.evicted_from_l2(gone)
        fleet.timeline.after(_BURST_TO_CRASH_SECONDS, fleet.replica(target).restart)


class Preemptions(BaseFault):
    """The engine runs out of blocks again and again, and takes requests off its batch."""

    name = "preemptions"
    seen = (
        "preemptions rise, and so does the time to the last token. Before vLLM 0.11.1: note `preempted`, prompt "
        "tokens and L0 hits of those requests are counted more than once; since then no tier moves"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        replica = fleet.replica(target)

        def preempt() -> None:
            if self.name in fleet.faults:
                replica.preempt()
                fleet.timeline.after(_PREEMPTS_EVERY_SECONDS, preempt)

        fleet.timeline.after(_PREEMPTS_EVERY_SECONDS, preempt)


class RouterDown(BaseFault):
    """The router does not start, as with a strategy whose companions are missing."""

    name = "router-down"
    seen = "the router's page refuses connections, and no request comes in: every replica is `idle`, and healthy"

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].router_up = False

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].router_up = True

    def exported(self, text: str, address: Address, target: FaultTarget) -> str:
        if address == (target.endpoint, FLEET, "router"):
            raise NoAnswerError("the router is down")
        return text
