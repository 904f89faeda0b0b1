"""One request on its way through a replica."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lab.sim.workload import Request
from tierdeck.sizing.prompt import Geometry
from tierdeck.sizing.replica import Lookup


class EndCall(Protocol):
    """Told a request that ended, and whether its answer is complete."""

    def __call__(self, job: Job, *, done: bool) -> None: ...


@dataclass(slots=True)
class Job:
    """Moments are simulated seconds.

    Attributes:
        on_first_token: told when the first token is there.
        on_end: told when the answer is complete, or (False) that the request came to nothing.
    """

    request: Request
    arrived: float
    started: float = 0.0
    loading_until: float = 0.0
    first_token: float = 0.0
    lookup: Lookup | None = None
    nameless: int = 0
    on_first_token: Callable[[Job], None] | None = None
    on_end: EndCall | None = None

    def end(self, *, done: bool) -> None:
        """Tell who waits for it."""
        if self.on_end is not None:
            self.on_end(self, done=done)

    def reserve(self, geometry: Geometry) -> None:
        """Blocks beyond the prompt's whole ones: its tail and the answer."""
        total = -(-(self.request.prompt.tokens + self.request.answer_tokens) // geometry.block_tokens)
        self.nameless = total - len(self.request.prompt.blocks)
