"""Questions about documents: a few documents are asked about again and again, most hardly ever."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from lab.sim.workload import Pace, Request, Text, arrivals, ask, lengths


@dataclass(frozen=True, slots=True)
class Rag:
    """Instructions, one document chosen by Zipf's law, one question."""

    name: str = "rag"
    system_tokens: int = 400
    documents: int = 600
    exponent: float = 1.05
    document_tokens: int = 3500

    def requests(self, seed: int, pace: Pace, start: float, block_tokens: int) -> Iterator[Request]:
        random = Random(f"rag {seed}")
        weights = list(accumulate(1 / rank**self.exponent for rank in range(1, self.documents + 1)))
        system = Text(block_tokens, "system prompt", self.name).add(self.system_tokens)
        library = [
            Text(block_tokens, "document", number, after=system).add(
                lengths(Random(f"document {number}"), self.document_tokens, 0.6, 600, 12_000)
            )
            for number in range(self.documents)
        ]
        for number, at in enumerate(arrivals(random, pace, start)):
            document = library[bisect(weights, random.random() * weights[-1])]
            question = Text(block_tokens, "question", seed, start, number, after=document)
            question.add(lengths(random, 60, 0.6, 10, 400))
            yield ask(at, question, lengths(random, 220, 0.5, 20, 800), block_tokens)
