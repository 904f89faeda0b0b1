"""Agents: long tool definitions, then many short steps in quick succession, each after a tool's output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from lab.sim.workload import Pace, Request, Text, lengths
from lab.sim.workloads.sessions import Session, Sessions, Turn


@dataclass(frozen=True, slots=True)
class Agents:
    """A few kinds of agents; runs of one kind share its tools."""

    name: str = "agents"
    kinds: int = 4
    tools_tokens: int = 3000
    mean_turns: float = 10.0
    most_tokens: int = 20_000

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        random = Random(f"agents {seed}")
        tools = [Text(block_tokens, "tools", kind).add(self.tools_tokens + 500 * kind) for kind in range(self.kinds)]

        def begin(number: int) -> Session:
            turns = 1 + min(40, int(random.expovariate(1 / (self.mean_turns - 0.5))))
            text = Text(block_tokens, self.name, seed, start, number, after=random.choice(tools))
            return Session(f"{self.name}-{seed}-{number}", text, turns)

        def turn() -> Turn:
            answers = lengths(random, 90, 0.5, 15, 400)
            return Turn(lengths(random, 400, 0.9, 30, 4000), answers, 2 + answers * 0.03 + random.expovariate(0.25))

        return Sessions(begin, turn, self.mean_turns, self.most_tokens).requests(random, pace, start, block_tokens)
