"""What an operator may set about the hit-ratio rules, for each endpoint."""

from __future__ import annotations

from dataclasses import dataclass

from tierdeck.errors import UsageError


@dataclass(frozen=True, slots=True)
class HitRatioLimits:
    """The defaults are those of the simulations in `tests/bench/alerts.py`.

    Attributes:
        floor: the least hit ratio, in [0, 1]; None: none is set, and `hit_ratio_floor` never fires.
        least_requests, least_tokens: traffic below which a window of an hour tells nothing.
        drop_points, drift_points, tier_points: the least loss, in points, that each rule calls one.
        deviations: standard deviations of a window that a drop has at least.
        warm_seconds: how long a restart, rollout or scale-out mutes at most.
        settle_seconds: a loss that was acknowledged, or came with a change of configuration, and still stands
            after so long is what is usual from then on.
        utc_offset_seconds: of the clock by which people work; days and weekends go by it.
    """

    floor: float | None = None
    least_requests: float = 30.0
    least_tokens: float = 10_000.0
    drop_points: float = 8.0
    drift_points: float = 6.0
    tier_points: float = 12.0
    deviations: float = 4.0
    warm_seconds: float = 3600.0
    settle_seconds: float = 86400.0
    utc_offset_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.floor is not None and not 0 <= self.floor <= 1:
            raise UsageError(f"a floor of {self.floor:g} is no ratio", "Write a number from 0 to 1, such as 0.6.")
        below = [
            name
            for name in ("least_requests", "least_tokens", "drop_points", "drift_points", "tier_points", "deviations")
            if getattr(self, name) <= 0
        ]
        if not -43200 <= self.utc_offset_seconds <= 50400:
            raise UsageError("a clock is 12 hours behind UTC to 14 hours ahead of it")
        if below:
            raise UsageError(f"{' and '.join(below)} must be above 0")
