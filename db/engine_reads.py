"""Whether vLLM's counts reach from a window's first round to its last one, by the instants of its rounds."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.account import Answer


@dataclass(frozen=True, slots=True)
class EngineReads:
    """When a replica's rounds read vLLM.

    Attributes:
        began_at: when the time of the first round began; the very first one of a replica takes none.
        first_at, last_at: of the first and the last round.
        read_at, counted_at: of the first that read vLLM, and of the first whose counts were taken; None: none.
        counted_last_at: of the last whose counts were taken.
        answer: of the last round.
    """

    began_at: float
    first_at: float
    last_at: float
    read_at: float | None
    counted_at: float | None
    counted_last_at: float | None
    answer: Answer

    def then(self, later: EngineReads) -> EngineReads:
        """Followed by later rounds."""
        return EngineReads(
            self.began_at,
            self.first_at,
            later.last_at,
            _or(self.read_at, later.read_at),
            _or(self.counted_at, later.counted_at),
            _or(later.counted_last_at, self.counted_last_at),
            later.answer,
        )

    @property
    def covers(self) -> bool:
        """False where the first count is a baseline after the window's first moment, or the last page of no use."""
        if self.read_at is None:
            return True
        is_first_moment = self.read_at == self.first_at <= self.began_at
        begins_late = self.counted_at != self.read_at and not is_first_moment
        is_last_moment = self.last_at > self.read_at or not is_first_moment
        ends_early = is_last_moment and self.answer is Answer.ENGINE and self.counted_last_at != self.last_at
        return not (begins_late or ends_early)


def _or(one: float | None, other: float | None) -> float | None:
    return other if one is None else one
