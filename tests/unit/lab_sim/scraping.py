"""Simulated fleets on a manual clock, scraped as text and accounted by the collectors' own accountant."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.explain import replica_account
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from lab.sim.engine import SimReplica
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.scale import GIB
from lab.sim.spec import EndpointSpec, FleetSpec, Form
from lab.sim.telemetry import cache_source
from tierdeck.account import ReplicaAccount
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.rounds import Round, Scrape
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Geometry
from tierdeck.split import TierSplit, split

BEGAN_AT = 1_800_000_000.0
COARSE = Geometry(block_tokens=128, chunk_tokens=256, kv_bytes_per_token=57_344)
MP, EMBEDDED, OLDER = Form.MULTI_PROCESS, Form.EMBEDDED, Form.OLDER
ENDPOINT = EndpointSpec(
    name="chat",
    model="m",
    workload="chat",
    forms=(MP, MP),
    strategy=RoutingStrategy.ROUNDROBIN,
    requests_per_second=0.7,
    l0_bytes=2 * GIB,
    l1_bytes=4 * GIB,
    geometry=COARSE,
)


def fleet(*, pool_bytes: int = 40 * GIB, seed: int = 1, **changes: object) -> Fleet:
    """A fleet of one endpoint, called `chat` whatever its traffic."""
    endpoint = replace(ENDPOINT, **changes)  # type: ignore[arg-type]  # names of its fields
    return Fleet(FleetSpec((endpoint,), (pool_bytes // 2,) * 2), seed, BEGAN_AT)


@dataclass
class _Watched:
    replica: Replica
    accountant: ReplicaAccountant
    rounds: list[Round]


class Scraper:
    """Scrapes all replicas of a fleet, as a collector would at the fleet's simulated time."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._watched: dict[str, _Watched] = {}
        self.round()

    def run(self, seconds: float, interval: float = 15.0) -> None:
        """Let time pass, with a round at the end of each interval."""
        for _ in range(round(seconds / interval)):
            self.fleet.advance(interval)
            self.round()

    def round(self) -> None:
        for name, endpoint in self.fleet.endpoints.items():
            for replica in endpoint.replicas:
                watched = self._watched.get(replica.name) or self._watch(name, replica)
                at = self.fleet.timeline.wall()
                answers = {target.name: self._scrape(target, at) for target in watched.replica.targets}
                watched.rounds.append(watched.accountant.feed(at, answers))
        self._round_of_the_gone()

    def _round_of_the_gone(self) -> None:
        """Pods that are no more are still in the configuration."""
        here = {replica.name for endpoint in self.fleet.endpoints.values() for replica in endpoint.replicas}
        at = self.fleet.timeline.wall()
        for name in self._watched.keys() - here:
            watched = self._watched[name]
            answers = {target.name: self._scrape(target, at) for target in watched.replica.targets}
            watched.rounds.append(watched.accountant.feed(at, answers))

    def account(self, name: str) -> ReplicaAccount:
        return replica_account(name, self._watched[name].rounds)

    def tiers(self, name: str) -> TierSplit:
        return split(self.account(name).ledger)

    def last(self, name: str) -> Round:
        return self._watched[name].rounds[-1]

    def rounds(self, name: str) -> list[Round]:
        return self._watched[name].rounds

    def forget(self) -> None:
        """Windows begin at the last round."""
        for watched in self._watched.values():
            del watched.rounds[:]

    def codes(self, name: str) -> set[str]:
        return {str(note.code) for note in self.tiers(name).notes}

    def text(self, replica: str, source: str) -> str:
        endpoint = next(name for name, found in self.fleet.endpoints.items() if replica.startswith(name))
        return self.fleet.body(endpoint, replica, source)

    def _watch(self, endpoint: str, simulated: SimReplica) -> _Watched:
        key = ReplicaKey("c", endpoint, simulated.name)
        sources = ("vllm", cache_source(simulated.form)) if simulated.has_cache else ("vllm",)
        targets = tuple(Target(key, source, source) for source in sources)
        replica = Replica(key, targets, simulated.role, tuple(sorted(simulated.form.versions.items())))
        watched = _Watched(replica, ReplicaAccountant(replica, watched_since=BEGAN_AT - 1), [])
        self._watched[simulated.name] = watched
        return watched

    def _scrape(self, target: Target, at: float) -> Answered:
        try:
            body = self.fleet.body(target.key.endpoint, target.key.replica, target.name)
        except NoAnswerError as error:
            return Answered(Scrape(target, at, answered=False, reason=str(error)))
        reading, reason = interpret(BY_KIND[target.kind], body)
        return Answered(Scrape(target, at, answered=True, reason=reason), reading)
