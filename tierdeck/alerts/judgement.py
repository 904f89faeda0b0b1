"""What a detector says each minute, and what it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.minute import Scene

LATE_SECONDS = 300.0
"""A minute that is not judged so long after its end is one in which nothing was judged in time."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One rule about one subject in one minute.

    Attributes:
        is_bad: the rule's condition holds; None: it can't be told (too little traffic, no data), so that
            nothing begins, and what is open stays as it is.
        is_clear: well enough to end an alert (hysteresis: by half of the trip); never with `is_bad`.
        value, expected, depth: as in `Alert`.
        muted_by: why an alert that would fire now is not to be said, such as `warming`; empty: it is.
        spared, changed_at: as in `Alert`.
    """

    rule: str
    subject: Subject
    is_bad: bool | None
    is_clear: bool = False
    value: float | None = None
    expected: float | None = None
    depth: float | None = None
    words: str = ""
    evidence: Mapping[str, str] = field(default_factory=dict)
    muted_by: str = ""
    spared: tuple[str, ...] = ()
    changed_at: float | None = None


class Detector(Protocol):
    """Judges one rule, or several that share their reckoning; sees every minute once and in order.

    `frozen` names the keys (rule, subject) of alerts that are firing: what is usual is not learnt from their
    subjects meanwhile.
    """

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        """Judgements of this minute. A subject that is not judged is left as it is."""
        ...
