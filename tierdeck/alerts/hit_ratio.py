"""The hit-ratio rules: drop, drift, floor, and a tier's drop, judged each minute for every endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.hit_ratio_limits import HitRatioLimits
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.ratios.drift import Drift, DriftLimits
from tierdeck.alerts.ratios.drop import Drop, DropLimits, Strayed
from tierdeck.alerts.ratios.noise import SLOTS_KEPT
from tierdeck.alerts.ratios.series import Series, Slot
from tierdeck.alerts.ratios.usual import SLOT_SECONDS, Guards
from tierdeck.alerts.ratios.warming import RECOVERING, WARMING, Warming
from tierdeck.alerts.rules import HIT_RATIO_DRIFT, HIT_RATIO_DROP, HIT_RATIO_FLOOR, TIER_DROP

TOO_LITTLE = "too little traffic to tell"
LEARNING = "nothing is known to be usual yet"
TIERS = ("L0", "L1", "L2")
# By how much the ratio has to be above its floor again.
_ABOVE_FLOOR = 0.01
# A loss that begins so soon after a change of configuration came with it.
_FOLLOWS_SECONDS = 7200.0
# How far a ratio strays is learnt from the last days, and from a day more for its first slots to stray from.
_NOISE_SECONDS = (SLOTS_KEPT + 144) * SLOT_SECONDS


@dataclass(slots=True)
class _Watched:
    """One ratio with what judges it."""

    series: Series
    drop: Drop


@dataclass(slots=True)
class _Endpoint:
    limits: HitRatioLimits
    whole: _Watched
    tiers: Mapping[str, _Watched]
    drift: Drift
    warming: Warming
    changed_at: float | None = None
    accepted_at: float | None = None

    @classmethod
    def of(cls, limits: HitRatioLimits) -> _Endpoint:
        def watched(points: float) -> _Watched:
            guards = Guards(days=points, day=points + 1.0, other_kind=points + 0.5)
            drops = DropLimits(limits.least_requests, limits.least_tokens, limits.deviations)
            return _Watched(Series(guards, limits.utc_offset_seconds), Drop(drops))

        drift = Drift(DriftLimits(limits.least_requests, limits.drift_points))
        tiers = {tier: watched(limits.tier_points) for tier in TIERS}
        return cls(limits, watched(limits.drop_points), tiers, drift, Warming(limits.warm_seconds))

    @property
    def all_watched(self) -> Iterator[_Watched]:
        yield self.whole
        yield from self.tiers.values()

    def reset(self) -> None:
        for watched in self.all_watched:
            watched.drop.reset()
        self.drift.reset()


class HitRatioDetector:
    """A `Detector`; keeps what it learns in memory, so that a new process is taught with `learn` first.

    Args:
        limits: of an endpoint. Its floor may change at any time, the rest when the endpoint is first seen.
    """

    def __init__(self, limits: Callable[[Subject], HitRatioLimits] = lambda _: HitRatioLimits()) -> None:
        self._limits = limits
        self._endpoints: dict[Subject, _Endpoint] = {}

    def learn(
        self, subject: Subject, at: float, age: float, counts: tuple[float, float], hits: Mapping[str, float]
    ) -> None:
        """Ten minutes of the past, in order, before the first scene.

        Args:
            at: when they began. Those in which an alert fired are to be left out by the caller.
            age: seconds from then to the first scene.
            counts: requests and prompt tokens.
            hits: tokens by tier, and of all tiers under ``""``; what is not known is absent.
        """
        endpoint = self._endpoint(subject)
        requests, prompt_tokens = counts
        for name, watched in (("", endpoint.whole), *endpoint.tiers.items()):
            if name in hits and prompt_tokens > 0:
                learn = watched.series.step if age <= _NOISE_SECONDS else watched.series.remember
                learn(at, (prompt_tokens, hits[name], requests))

    def accept(self, subject: Subject, at: float) -> None:
        """What fires was acknowledged or came with a change at `at`: if it lasts for `settle_seconds`, it is usual."""
        self._endpoint(subject).accepted_at = at

    def judge(self, scene: Scene) -> Iterator[Judgement]:
        for subject, minute in scene.minutes.items():
            yield from self._judged(subject, minute, scene.firing)

    def _endpoint(self, subject: Subject) -> _Endpoint:
        if subject not in self._endpoints:
            self._endpoints[subject] = _Endpoint.of(self._limits(subject))
        return self._endpoints[subject]

    def _judged(self, subject: Subject, minute: Minute, firing: frozenset[tuple[str, Subject]]) -> Iterator[Judgement]:
        endpoint = self._endpoint(subject)
        _note_events(endpoint, minute)
        fires = any((rule.name, subject) in firing for rule in (HIT_RATIO_DROP, HIT_RATIO_DRIFT))
        if fires:
            _settle(endpoint, minute.at)
        else:
            endpoint.accepted_at = None
        whole = endpoint.whole
        expected = whole.series.expected
        has_traffic, ended = _step(whole.series, minute, minute.hit_tokens)
        if ended is not None:
            endpoint.drift.add(ended, whole.series, expected)
        strayed = whole.drop.judge(whole.series) if has_traffic else None
        if strayed is not None:
            endpoint.warming.seen(minute.at, is_bad=strayed.is_bad, is_clear=strayed.is_clear)
        if fires or (strayed is not None and strayed.is_bad):
            whole.series.leave_out()
        why = LEARNING if strayed is None and has_traffic and _is_enough(endpoint) else TOO_LITTLE
        muted_by = WARMING if endpoint.warming.is_on else ""
        rising = RECOVERING if strayed is not None and strayed.is_recovering else ""
        said = _said(HIT_RATIO_DROP.name, subject, strayed, why, muted_by or rising)
        yield replace(said, changed_at=_came_with(endpoint))
        if strayed is not None and strayed.is_clear and (HIT_RATIO_DROP.name, subject) in firing:
            endpoint.drift.ease()
        drift = _drifted(endpoint, strayed, is_muted=bool(muted_by or rising))
        said = _said(HIT_RATIO_DRIFT.name, subject, drift, why, muted_by or rising)
        yield replace(said, changed_at=_came_with(endpoint))
        if (floor := self._limits(subject).floor) is not None:
            yield _floored(endpoint, subject, floor, muted_by or rising, has_traffic=has_traffic)
        for tier, hits in zip(TIERS, (minute.l0, minute.l1, minute.l2), strict=True):
            watched = endpoint.tiers[tier]
            if hits is None and watched.series.expected is None:
                continue
            place = replace(subject, part=tier)
            has_share, _ = _step(watched.series, minute, hits)
            seen = watched.drop.judge(watched.series) if has_share else None
            if (TIER_DROP.name, place) in firing or fires or (seen is not None and seen.is_bad):
                watched.series.leave_out()
            rising = RECOVERING if seen is not None and seen.is_recovering else ""
            yield _said(TIER_DROP.name, place, seen, why, muted_by or rising)


def _drifted(endpoint: _Endpoint, strayed: Strayed | None, *, is_muted: bool) -> Strayed | None:
    series, drift = endpoint.whole.series, endpoint.drift
    if is_muted:
        drift.reset()
    found = drift.judge(series, strayed)
    if found is not None and found.is_bad and drift.began_at is not None:
        series.forget(drift.began_at)
    return found


def _came_with(endpoint: _Endpoint) -> float | None:
    """When the configuration was changed with which the loss came; None: with no change."""
    fell_at, changed = endpoint.whole.drop.since or endpoint.drift.began_at, endpoint.changed_at
    if changed is None or fell_at is None:
        return None
    return changed if changed - SLOT_SECONDS <= fell_at <= changed + _FOLLOWS_SECONDS else None


def _settle(endpoint: _Endpoint, now: float) -> None:
    """What came with a change, or was acknowledged, and still fires long after is what is usual."""
    for at in (endpoint.accepted_at, _came_with(endpoint)):
        if at is not None and now - at >= endpoint.limits.settle_seconds:
            for watched in endpoint.all_watched:
                watched.series.accept(at)
            endpoint.reset()
            endpoint.changed_at = endpoint.accepted_at = None


def _note_events(endpoint: _Endpoint, minute: Minute) -> None:
    if minute.is_restated:
        for watched in endpoint.all_watched:
            watched.series.restart()
        endpoint.reset()
    if minute.restarts or minute.is_changed:
        endpoint.warming.happened(minute.at)
    if minute.is_changed:
        endpoint.changed_at = minute.at


def _step(series: Series, minute: Minute, hits: float | None) -> tuple[bool, Slot | None]:
    """Feed one minute: whether it had traffic that can be told, and the slot that ended before it."""
    tokens, requests = minute.prompt_tokens, minute.requests
    if hits is None or requests is None or not tokens:
        return False, series.step(minute.at, None)
    return True, series.step(minute.at, (tokens, hits, requests))


def _is_enough(endpoint: _Endpoint) -> bool:
    limits = endpoint.limits
    return endpoint.whole.series.window.enough(limits.least_requests, limits.least_tokens) is not None


def _said(rule: str, subject: Subject, strayed: Strayed | None, why: str, muted_by: str) -> Judgement:
    if strayed is None:
        return Judgement(rule, subject, None, words=why, muted_by=muted_by)
    span, expected = strayed.span, strayed.expected
    if not strayed.is_bad:
        return Judgement(rule, subject, is_bad=False, is_clear=strayed.is_clear, muted_by=muted_by)
    what = f"{subject.part} serves" if subject.part else "the hit ratio is"
    return Judgement(
        rule,
        subject,
        is_bad=True,
        value=span.ratio / 100.0,
        expected=expected.value / 100.0,
        depth=strayed.depth,
        words=f"{what} {span.ratio:.0f} % of prompt tokens, {strayed.depth:.0f} points below what is usual now",
        evidence={
            "usual": f"{expected.value:.1f} %",
            "learnt_from": f"{expected.days} days of this kind" if expected.days else "the last hours",
            "trip": f"{strayed.trip:.1f} points",
            "minutes_with_traffic": f"{span.minutes}",
            "requests": f"{span.requests:.0f}",
            "prompt_tokens": f"{span.tokens:.0f}",
        },
        muted_by=muted_by,
    )


def _floored(endpoint: _Endpoint, subject: Subject, floor: float, muted_by: str, *, has_traffic: bool) -> Judgement:
    limits = endpoint.limits
    span = endpoint.whole.series.window.enough(limits.least_requests, limits.least_tokens) if has_traffic else None
    rule = HIT_RATIO_FLOOR.name
    if span is None:
        return Judgement(rule, subject, None, words=TOO_LITTLE, muted_by=muted_by)
    ratio = span.ratio / 100.0
    if ratio >= floor:
        return Judgement(
            rule, subject, is_bad=False, is_clear=ratio >= min(floor + _ABOVE_FLOOR, 1.0), muted_by=muted_by
        )
    return Judgement(
        rule,
        subject,
        is_bad=True,
        value=ratio,
        expected=floor,
        depth=100.0 * floor - span.ratio,
        words=f"the hit ratio is {span.ratio:.0f} %, below its floor of {100 * floor:.0f} %",
        evidence={"requests": f"{span.requests:.0f}", "prompt_tokens": f"{span.tokens:.0f}"},
        muted_by=muted_by,
    )
