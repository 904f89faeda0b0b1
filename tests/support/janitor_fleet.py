"""A simulated pool that fills up, with the real janitor on it or without, in simulated time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.janitor.janitor import Janitor, Whose
from controller.janitor.rounds import Rules
from db import Store
from lab.sim.fleet import Fleet
from lab.sim.pool_files import PoolFiles
from lab.sim.scale import GIB
from lab.sim.spec import FleetSpec
from tests.support.simulated_deck import CLUSTER
from tests.unit.lab_sim.scraping import BEGAN_AT, ENDPOINT, MP
from tierdeck.l2.cleaning import CleaningLimits

CHAT = replace(ENDPOINT, forms=(MP, MP))
WRITER = replace(
    ENDPOINT, name="writer", model="writer", workload="writer", forms=(MP,), requests_per_second=0.05
)  # fmt: skip
"""Long prompts that nobody repeats: the workload that fills a pool."""
RULES = Rules(limits=CleaningLimits(grace_seconds=120.0), is_dry=False, settle_seconds=60.0)
POOL = "curvine"


def filling(
    pool_bytes: int = 40 * GIB, *, evicts: bool = False, writes: float = 0.05, began_at: float = BEGAN_AT
) -> Fleet:
    """Chats beside the writer, on a pool of two workers.

    Args:
        evicts: the pool is the simulator's LRU; else it refuses what does not fit, as Curvine does.
        writes: prompts of the writer a second, of 344 MB each.
    """
    spec = FleetSpec(
        (CHAT, replace(WRITER, requests_per_second=writes)), (pool_bytes // 2,) * 2, pool_evicts=evicts, pool_name=POOL
    )  # fmt: skip
    return Fleet(spec, 1, round(began_at // 60) * 60.0)


def clean(fleet: Fleet, store: Store, rules: Rules = RULES, *, keeps_read_times: bool = True) -> Janitor:
    """A janitor at work on the fleet's pool from now on, in its time."""
    files = PoolFiles(fleet.pool, fleet.timeline, keeps_read_times=keeps_read_times)
    janitor = Janitor(Whose(CLUSTER, POOL, "test:1"), rules, store, files, fleet.timeline.wall)

    def tick() -> None:
        fleet.timeline.after(max(1.0, janitor.tick()), tick)

    tick()
    return janitor


@dataclass
class Watch:
    """What is of interest: how full the pool ever was, and the chats' tokens from a moment on."""

    fleet: Fleet
    top: float = 0.0
    counted: tuple[int, int] = (0, 0)

    def run(self, seconds: float) -> None:
        files = PoolFiles(self.fleet.pool, self.fleet.timeline)
        for _ in range(round(seconds / 5)):
            self.fleet.advance(5.0)
            self.top = max(self.top, files.room().used_ratio)

    def begin(self) -> None:
        self.counted = self._tokens()

    @property
    def hit_ratio(self) -> float:
        """Of the chats since `begin`, as it really was."""
        (hits, tokens), (hits_before, tokens_before) = self._tokens(), self.counted
        return (hits - hits_before) / (tokens - tokens_before)

    def _tokens(self) -> tuple[int, int]:
        truths = [replica.truth for replica in self.fleet.endpoints["chat"].replicas]
        return sum(one.l0 + one.l1 + one.l2 for one in truths), sum(one.prompt_tokens for one in truths)
