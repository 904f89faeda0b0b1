"""Traffic in sessions: each begins somewhere and comes back with a longer prompt, several times."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from lab.sim.workload import Pace, Request, Text, arrivals, ask


@dataclass(slots=True)
class Session:
    """One conversation: its text so far, and how it goes on."""

    name: str
    text: Text
    turns: int


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn adds to the text, and the pause until the next one."""

    asks: int
    answers: int
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Sessions:
    """Many conversations side by side.

    Attributes:
        begin: the conversation of a number.
        turn: what its next turn adds.
        mean_turns: of a conversation; the pace is that of requests, conversations begin less often.
        most_tokens: a conversation that grew longer ends.
    """

    begin: Callable[[int], Session]
    turn: Callable[[], Turn]
    mean_turns: float
    most_tokens: int

    def requests(self, random: Random, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        """Turns of all conversations in order of time."""
        births = arrivals(random, lambda at: pace(at) / self.mean_turns, start)
        under_way: list[tuple[float, int, Session]] = []
        next_birth, number = next(births), 0
        while True:
            if not under_way or next_birth <= under_way[0][0]:
                heapq.heappush(under_way, (next_birth, number, self.begin(number)))
                next_birth, number = next(births), number + 1
                continue
            at, order, session = heapq.heappop(under_way)
            step = self.turn()
            session.text.add(step.asks)
            yield ask(at, session.text, step.answers, block_tokens, session.name)
            session.text.add(step.answers)
            session.turns -= 1
            if session.turns > 0 and session.text.tokens < self.most_tokens:
                heapq.heappush(under_way, (at + step.pause_seconds, order, session))
