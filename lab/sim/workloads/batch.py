"""Stateless batch: the same short instruction, then text that nobody sends twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from lab.sim.workload import Pace, Request, Text, arrivals, ask, lengths


@dataclass(frozen=True, slots=True)
class Batch:
    """A few jobs, each with its own instruction; a share of the items is retried."""

    name: str = "batch"
    jobs: int = 3
    instruction_tokens: int = 500
    retried: float = 0.15

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        random = Random(f"batch {seed}")
        jobs = [Text(block_tokens, "instruction", job).add(self.instruction_tokens) for job in range(self.jobs)]
        recent: list[Text] = []
        for number, at in enumerate(arrivals(random, pace, start)):
            if recent and random.random() < self.retried:
                item = random.choice(recent)
            else:
                item = Text(block_tokens, "item", seed, start, number, after=random.choice(jobs))
                item.add(lengths(random, 900, 0.6, 100, 6000))
                recent = [*recent[-199:], item]
            yield ask(at, item, lengths(random, 40, 0.5, 5, 200), block_tokens)
