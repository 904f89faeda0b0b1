"""Faults of traffic: routing that is not what it says, other texts than yesterday, caches that churn."""

from __future__ import annotations

from lab.sim.fault import BaseFault, FaultTarget
from lab.sim.fleet import Fleet
from lab.sim.workloads import BY_NAME

_STORM_SECONDS = 10.0
_STORM_SHARE = 0.5


class StrategyNotEffective(BaseFault):
    """The router takes a new strategy in, and goes on as before."""

    name = "strategy-not-effective"
    seen = (
        "configuration and the router's page show the new strategy, requests are spread as under the old one: L0's "
        "share does not move, and a repeated prompt does not come back to the same replica"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].stick(on=True)

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].stick(on=False)


class ChatNotRouted(BaseFault):
    """kvaware reads the prompt of completions only: of a chat it knows nothing, and takes the least busy replica."""

    name = "chat-not-routed"
    seen = (
        "under `kvaware`, configured and shown by the router, chats are spread evenly: L0's share is that of "
        "roundrobin and a repeated chat comes to another replica, while a repeated completion comes back"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].reads_chats = False

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.endpoints[target.endpoint].reads_chats = True


class WorkloadShift(BaseFault):
    """The users change: long prompts that nobody repeats."""

    name = "workload-shift"
    seen = (
        "all hit ratios of the endpoint fall at once on all replicas, with prompts longer and no restart, no change "
        "and no eviction before it: nothing is broken"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]
        fleet.play(target.endpoint, BY_NAME["batch" if endpoint.spec.workload == "writer" else "writer"])

    def off(self, fleet: Fleet, target: FaultTarget) -> None:
        fleet.play_usual(target.endpoint)


class EvictionStorm(BaseFault):
    """Something fills L1 and L2 with chunks that nobody wants: half of what is there goes, again and again."""

    name = "eviction-storm"
    seen = (
        "evicted chunks of L1 and L2 rise steeply, their shares fall on all replicas, no size and no strategy changed"
    )

    def on(self, fleet: Fleet, target: FaultTarget) -> None:
        endpoint = fleet.endpoints[target.endpoint]

        def blow() -> None:
            if self.name not in fleet.faults:
                return
            for number, replica in enumerate(endpoint.replicas):
                replica.evict_l1(_STORM_SHARE)
                if number == 0:
                    replica.cache_page.evicted_from_l2(fleet.pool.chunks.evict(round(len(fleet.pool.chunks) * 0.5)))
            fleet.timeline.after(_STORM_SECONDS, blow)

        fleet.timeline.after(0.0, blow)
