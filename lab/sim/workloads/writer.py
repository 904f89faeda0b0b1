"""Long prompts that nobody repeats: all that they leave behind is a full pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from lab.sim.workload import Pace, Request, Text, arrivals, ask, lengths


@dataclass(frozen=True, slots=True)
class Writer:
    """Prompts of some thousand tokens with short answers."""

    name: str = "writer"
    prompt_tokens: int = 6000

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        random = Random(f"writer {seed}")
        for number, at in enumerate(arrivals(random, pace, start)):
            text = Text(block_tokens, "written once", seed, start, number)
            text.add(lengths(random, self.prompt_tokens, 0.3, 2000, 16_000))
            yield ask(at, text, 10, block_tokens)
