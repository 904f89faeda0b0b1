"""Multi-turn chat: one system prompt for all, and conversations that grow by a question and an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from lab.sim.workload import Pace, Request, Text, lengths
from lab.sim.workloads.sessions import Session, Sessions, Turn


@dataclass(frozen=True, slots=True)
class Chat:
    """The system prompt is part of every prompt; the rest belongs to one conversation."""

    name: str = "chat"
    system_tokens: int = 700
    mean_turns: float = 8.0
    pause_seconds: float = 25.0
    most_tokens: int = 12_000

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        random = Random(f"chat {seed}")
        system = Text(block_tokens, "system prompt", self.name).add(self.system_tokens)

        def begin(number: int) -> Session:
            turns = 1 + min(30, int(random.expovariate(1 / (self.mean_turns - 0.5))))
            text = Text(block_tokens, self.name, seed, start, number, after=system)
            return Session(f"{self.name}-{seed}-{number}", text, turns)

        def turn() -> Turn:
            asks = lengths(random, 280, 0.8, 20, 2500)
            answers = lengths(random, 180, 0.5, 20, 600)
            return Turn(asks, answers, 5 + answers * 0.03 + random.expovariate(1 / self.pause_seconds))

        return Sessions(begin, turn, self.mean_turns, self.most_tokens).requests(random, pace, start, block_tokens)
