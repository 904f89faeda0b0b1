"""TTFT against its objective: how fast the error budget is spent, over pairs of windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import TTFT_BURN
from tierdeck.histogram import Histogram
from tierdeck.units import format_ratio, format_seconds

_PAIRS = ((60, 5, 14.4), (360, 30, 6.0))
"""Long and short window in minutes, and the pace: of the Google SRE workbook, for a budget of 30 days."""
_REACHABLE = 0.8
"""A pace that would take more than all requests to be late is lowered to this share of them."""
_LEAST_REQUESTS = 20.0
_LEAST_OF_LONG = 0.25
"""A window judges once so much of it has been seen."""


@dataclass(frozen=True, slots=True)
class Objective:
    """`share` of first tokens within `seconds`; such as 0.95 within 2 s."""

    share: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Burn:
    """Late shares in a long window of `minutes` and in its short one, and the share at which they trip."""

    minutes: int
    long: float
    short: float
    trip: float

    @property
    def share(self) -> float:
        """What both windows say: the lesser one."""
        return min(self.long, self.short)


@dataclass(slots=True)
class _Counts:
    """Late and all first tokens, minute by minute, with their sums over each window."""

    kept: deque[tuple[float, float]] = field(default_factory=deque)

    def add(self, late: float, every: float) -> None:
        self.kept.append((late, every))
        if len(self.kept) > _PAIRS[-1][0]:
            self.kept.popleft()

    def burn(self, pair: tuple[int, int, float], budget: float) -> _Burn | None:
        """None: one of the windows can't judge."""
        minutes, few, pace = pair
        long, short = self._share(minutes), self._share(few)
        return None if long is None or short is None else _Burn(minutes, long, short, min(pace * budget, _REACHABLE))

    def _share(self, minutes: int) -> float | None:
        """Late ones of all; None: too few, or too short a time."""
        if len(self.kept) < _LEAST_OF_LONG * minutes:
            return None
        window = [self.kept[number] for number in range(max(0, len(self.kept) - minutes), len(self.kept))]
        every = sum(one for _, one in window)
        return sum(late for late, _ in window) / every if every >= _LEAST_REQUESTS else None


def out_of_reach(ttft: Histogram, objective: Objective) -> str:
    """Why late tokens can't be counted for this objective; "": they can."""
    last = ttft.bounds[-1] if ttft.bounds else 0.0
    if objective.seconds <= last:
        return ""
    wanted = f"its objective of {objective.seconds:g} s can't be judged"
    return f"{wanted}: the last bucket ends at {last:g} s, and what is later is one count"


class TtftBurn:
    """Judges `ttft_burn` for endpoints that have an objective."""

    def __init__(self, objective: Callable[[Subject], Objective | None]) -> None:
        self._objective = objective
        self._counts: dict[Subject, _Counts] = {}

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        for gone in [subject for subject in self._counts if subject not in scene.minutes]:
            del self._counts[gone]
        for subject, minute in scene.minutes.items():
            objective = self._objective(subject)
            if objective is not None:
                yield self._judge(subject, minute, objective)

    def _judge(self, subject: Subject, minute: Minute, objective: Objective) -> Judgement:
        counts = self._counts.setdefault(subject, _Counts())
        late, every, bound = _late(minute.ttft, objective.seconds)
        counts.add(late, every)
        burns = [burn for pair in _PAIRS if (burn := counts.burn(pair, 1 - objective.share)) is not None]
        if not burns:
            why = out_of_reach(minute.ttft, objective) if minute.ttft is not None else ""
            return Judgement(TTFT_BURN.name, subject, None, words=why)
        worst = max(burns, key=lambda one: one.share / one.trip)
        times = worst.share / (1 - objective.share)
        return Judgement(
            TTFT_BURN.name,
            subject,
            any(one.share >= one.trip for one in burns),
            is_clear=len(burns) == len(_PAIRS) and all(one.short < one.trip / 2 for one in burns),
            value=times,
            expected=1.0,
            depth=times,
            words=f"{format_ratio(worst.long)} of the first tokens of {subject.name} came later than "
            f"{format_seconds(bound)} in {format_seconds(worst.minutes * 60)}: {times:.1f} times the budget of an "
            f"objective of {format_ratio(objective.share)}.",
            evidence={
                "late in the long window": format_ratio(worst.long),
                "late in the short window": format_ratio(worst.short),
                "counted from the bucket bound": format_seconds(bound),
            },
        )


def _late(ttft: Histogram | None, seconds: float) -> tuple[float, float, float]:
    """Late ones, all, and the bucket bound from which they are counted: the first at or above the objective."""
    if ttft is None:
        return 0.0, 0.0, seconds
    for number, bound in enumerate(ttft.bounds):
        if bound >= seconds:
            return sum(ttft.counts[number + 1 :]), ttft.count, bound
    return 0.0, 0.0, seconds  # no bound at or above it: nothing can be said
