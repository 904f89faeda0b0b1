"""One engine of a replica: its queue, its L0, and what runs on its GPU; a replica has one per data-parallel rank."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from lab.sim.exposition.engine_series import EngineGauges, EngineSeries, Timing
from lab.sim.job import Job
from tierdeck.sizing.blocks import BlockCache
from tierdeck.sizing.replica import Lookup


@dataclass(slots=True, eq=False)
class Run:
    """A request on the GPU, or taken off it for a while.

    Attributes:
        lookup: where its prompt came from when it was first scheduled.
        timing: known from its first token on.
        decode_left: seconds from now, or from its next start, to the last token.
        ends_at: simulated second of the last token; 0 while it is prefilled.
    """

    job: Job
    lookup: Lookup
    timing: Timing | None = None
    decode_left: float = 0.0
    ends_at: float = 0.0
    preemptions: int = 0


@dataclass(slots=True, eq=False)
class Rank:
    """Requests in order of arrival, and those that run."""

    series: EngineSeries
    l0: BlockCache
    waiting: deque[Job] = field(default_factory=deque)
    running: dict[int, Run] = field(default_factory=dict)
    preempted: dict[int, Run] = field(default_factory=dict)
    busy_until: float = 0.0

    @property
    def outstanding(self) -> int:
        return len(self.waiting) + len(self.running)

    def runs(self, run: Run) -> bool:
        """Whether it still does: not after a restart, nor while it is preempted."""
        return self.running.get(id(run.job)) is run

    def release(self, run: Run, answer: tuple[int, ...] = ()) -> None:
        """Take it off the GPU; its blocks are idle then."""
        del self.running[id(run.job)]
        self.l0.release(run.job.request.prompt.blocks, run.job.nameless, answer)

    def preempt(self, now: float) -> bool:
        """Take the request that decodes since the shortest time off the batch; it will be the next to start."""
        decoding = [run for run in self.running.values() if run.ends_at > now]
        if not decoding:
            return False
        run = decoding[-1]
        self.release(run)
        run.preemptions += 1
        run.decode_left, run.ends_at = run.ends_at - now, 0.0
        self.preempted[id(run.job)] = run
        self.waiting.appendleft(run.job)
        self.series.preempted()
        return True

    def empty(self) -> list[Job]:
        """Lose all that waits and runs; returns it."""
        lost = [*self.waiting, *(run.job for run in self.running.values())]
        for group in (self.waiting, self.running, self.preempted):
            group.clear()
        return lost

    def gauges(self, now: float, *, blocked: bool, held_back: int) -> EngineGauges:
        """What a scrape finds now.

        Args:
            blocked: nothing starts, since the cache server does not answer.
            held_back: requests that wait for something other than the GPU, and are in no queue here.
        """
        loading = sum(1 for run in self.running.values() if now < run.job.loading_until)
        waiting = len(self.waiting) + held_back
        usage = self.l0.held_blocks / self.l0.capacity_blocks
        if blocked:
            return EngineGauges(len(self.running), waiting, waiting, loading, usage)
        return EngineGauges(len(self.running) - loading, waiting + loading, loading + held_back, loading, usage)
