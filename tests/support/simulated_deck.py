"""A deck on the simulated fleet in simulated time: every page is accounted and stored as the collectors do it, with
nobody waiting for a clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.config import inventory_of
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from collectors.versions import read_version
from db import Store
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.inventory import sim_config
from tierdeck.account import WarmingLimits
from tierdeck.fleet import FLEET, POOL, Replica, ReplicaKey, Target
from tierdeck.rounds import Round, Scrape
from tierdeck.settings import Settings

CLUSTER = "default"
_TIMEOUT_SECONDS: float = Settings.model_fields["scrape_timeout_seconds"].default


class SimulatedDeck:
    """A fleet, its collectors and their store.

    Args:
        every: seconds between two rounds.
    """

    def __init__(self, fleet: Fleet, store: Store, every: float = 60.0) -> None:
        self.fleet = fleet
        self.store = store
        self._every = every
        self._accountants: dict[ReplicaKey, ReplicaAccountant] = {}
        self._targets: dict[ReplicaKey, tuple[Target, ...]] = {}
        self._replicas: tuple[Replica, ...] = ()
        self._declared: tuple[str, ...] = ()

    @property
    def now(self) -> float:
        return self.fleet.timeline.wall()

    def run(self, seconds: float) -> None:
        """Let time pass, with a round after each interval; all of it is stored and rolled up then."""
        rounds: list[Round] = []
        for _ in range(round(seconds / self._every)):
            self.fleet.advance(self._every)
            rounds += self._round()
        self.store.append(rounds)
        self.store.rollup(self.now, WarmingLimits())

    def switch(self, fault: str, endpoint: str, replica: str = "", *, on: bool = True) -> None:
        self.fleet.switch(BY_NAME[fault], FaultTarget(endpoint, replica), on=on)

    def _round(self) -> Iterator[Round]:
        """Replicas that came or went are declared first, as the lab's configuration file tells the collectors."""
        state = tuple(
            f"{one.strategy} {[(each.name, each.form) for each in one.replicas]}"
            for one in self.fleet.endpoints.values()
        )
        if state != self._declared:
            self._declare(is_first=not self._declared)
            self._declared = state
        for replica in self._replicas:
            answers = {target.name: self._answer(target) for target in replica.targets}
            yield self._accountants[replica.key].feed(self.now, answers)

    def _declare(self, *, is_first: bool) -> None:
        inventory = inventory_of(sim_config(self.fleet, "http://simulated.invalid/{}/{}/{}".format), CLUSTER, "lab")
        self.store.declare(CLUSTER, inventory.endpoints, inventory.pools, origin="lab", actor="test")
        own = [one for endpoint in inventory.endpoints for one in endpoint.sized_replicas]
        self._replicas = (*own, *inventory.pools)
        absent_at = None if is_first else self.now - self._every
        for replica in self._replicas:
            known = self._accountants.get(replica.key)
            if known is None:
                self._accountants[replica.key] = ReplicaAccountant(replica, absent_at=absent_at)
            elif replica.targets != self._targets[replica.key]:  # as the collectors do: another task, that goes on
                self._accountants[replica.key] = ReplicaAccountant(replica, known.memory())
            self._targets[replica.key] = replica.targets

    def _answer(self, target: Target) -> Answered:
        """As a collector's task: a page that takes longer than the usual timeout is none, and its process is asked."""
        key = target.key
        owner, replica = (key.replica, FLEET) if key.endpoint == POOL else (key.endpoint, key.replica)
        try:
            body = self.fleet.body(owner, replica, target.name)
        except NoAnswerError as error:
            return Answered(Scrape(target, self.now, answered=False, reason=str(error)))
        if self.fleet.delay_seconds((owner, replica, target.name)) > _TIMEOUT_SECONDS:
            return Answered(Scrape(target, self.now, answered=False, reason="no answer in time"))
        reading, reason = interpret(BY_KIND[target.kind], body)
        version = self._version(owner, replica, target.name)
        return Answered(Scrape(target, self.now, answered=True, reason=reason, version=version), reading)

    def _version(self, owner: str, replica: str, source: str) -> str:
        """As the process tells it; empty where it tells none, or is not asked."""
        try:
            return read_version(self.fleet.version(owner, replica, source)) if replica != FLEET else ""
        except NoAnswerError:
            return ""
