"""L2 as a whole: workers lost, stores that never complete, finds that are not loaded, and a pool that finds nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import Recent, total
from tierdeck.alerts.conditions.room import Room
from tierdeck.alerts.conditions.stores import ALL_STORED, LEAST_CHUNKS, stored
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Minute, Scene
from tierdeck.alerts.rules import L2_OUTAGE
from tierdeck.fleet import POOL
from tierdeck.units import format_ratio

_SHORT_MINUTES = 5
_STORE_MINUTES = 2
_LONG_MINUTES = 360
_DAY_MINUTES = 1440
_UNLOADED_SHARE = 0.05
"""Of the tokens looked up: found in the cache, held by no L0, and still not loaded."""
_LEAST_TOKENS = 5_000.0
_BLIND_MINUTES = 5
_USUAL_SHARE = 0.1
"""L2 must have served as much of the lookups before, for nothing found now to mean anything."""

_L0_HOLDS = 0.7
"""Of its usual share."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Of a cluster: whether a pool is full, which has its own alert, and whether the outage fires already."""

    is_full: bool
    is_firing: bool


class L2Outage:
    """Judges `l2_outage`, once for all pools and endpoints of a cluster: they share what is broken."""

    def __init__(self) -> None:
        self._minutes: Recent[Minute] = Recent(_LONG_MINUTES)
        self._lost: Recent[float] = Recent(_DAY_MINUTES)
        self._room = Room()

    def learn(self, lost: Iterable[tuple[float, Subject, float]]) -> None:
        """Workers that did not beat, of the day before the first scene: when, which pool, how many; in order."""
        for at, subject, away in lost:
            self._lost.add(subject, at, away)

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._minutes.keep_only(scene.minutes)
        self._lost.keep_only(scene.pools)
        full = {subject.cluster for subject in self._room.full(scene)}
        clusters = {subject.cluster for subject in (*scene.minutes, *scene.pools)}
        for cluster in sorted(clusters):
            pools = {subject: pool for subject, pool in scene.pools.items() if subject.cluster == cluster}
            minutes = {subject: minute for subject, minute in scene.minutes.items() if subject.cluster == cluster}
            known = _Known(cluster in full, (L2_OUTAGE.name, Subject(cluster, POOL)) in scene.firing)
            yield self._judge(scene.at, pools, minutes, known)

    def _judge(
        self, at: float, pools: Mapping[Subject, PoolAccount], minutes: Mapping[Subject, Minute], known: _Known
    ) -> Judgement:
        cluster = next(iter((*minutes, *pools))).cluster
        signs, is_told = [], False
        for subject, pool in pools.items():
            gone = self._gone(at, subject, pool)
            is_told = is_told or gone is not None
            if gone:
                signs.append(("workers", f"{gone:.0f} workers of {subject.name} are lost", gone))
        for subject, minute in minutes.items():
            kept = [one for _, one in self._minutes.add(subject, at, minute)]
            found = [
                _not_stored(subject, kept, is_full=known.is_full),
                _not_loaded(subject, kept),
                _finds_nothing(subject, kept, is_firing=known.is_firing),
            ]
            is_told = is_told or any(one.stores_submitted is not None or one.found_l2 is not None for one in kept[-1:])
            signs += [sign for sign in found if sign is not None]
        share = max((depth for name, _, depth in signs if name != "workers"), default=None)
        return Judgement(
            L2_OUTAGE.name,
            Subject(cluster, POOL),
            bool(signs) if is_told else None,
            is_clear=is_told and not signs,
            value=share,
            depth=share if share is not None else float(len(signs)) or None,
            words=f"L2 is not working: {'; '.join(words for _, words, _ in signs[:3])}."
            + (f" And {len(signs) - 3} signs more." if len(signs) > 3 else ""),
            evidence={name: words for name, words, _ in reversed(signs)},
        )

    def _gone(self, at: float, subject: Subject, pool: PoolAccount) -> float | None:
        """Workers that do not beat now and did within the day; a loss of yesterday is how it is by now."""
        if pool.lost is None and pool.blacklisted is None:
            return None
        away = (pool.lost or 0.0) + (pool.blacklisted or 0.0)
        usual = min(value for _, value in self._lost.add(subject, at, away))
        return away - usual


Sign = tuple[str, str, float]


def _not_stored(subject: Subject, kept: Sequence[Minute], *, is_full: bool) -> Sign | None:
    """Stores are lost. Where the pool is full that is why, and its own alert says so."""
    share = stored(kept[-_STORE_MINUTES:])
    if share is None or share >= ALL_STORED or is_full or stored(kept[-1:]) == 1:
        return None
    return "stores", f"{format_ratio(1 - share)} of what {subject.name} submits is never stored", 1 - share


def _not_loaded(subject: Subject, kept: Sequence[Minute]) -> Sign | None:
    """What the cache found beyond L0 and the engine did not load."""
    told = ("found_l2", "loaded_tokens", "l0", "prompt_tokens")
    window = [one for one in kept[-_SHORT_MINUTES:] if all(getattr(one, name) is not None for name in told)]
    if len(window) < _SHORT_MINUTES - 1:
        return None
    prompt = total(window, lambda one: one.prompt_tokens)
    found = total(window, lambda one: (one.found_l1 or 0.0) + (one.found_l2 or 0.0))
    loaded, l0 = total(window, lambda one: one.loaded_tokens), total(window, lambda one: one.l0)
    if prompt is None or prompt < _LEAST_TOKENS or found is None or loaded is None or l0 is None:
        return None
    share = (found - loaded - l0) / prompt
    if share < _UNLOADED_SHARE:
        return None
    return "loads", f"{subject.name} does not load what is found in it ({format_ratio(share)} of its tokens)", share


def _finds_nothing(subject: Subject, kept: Sequence[Minute], *, is_firing: bool) -> Sign | None:
    """Written to, asked, and nothing is ever found, where it used to be; once that fires, it lasts while it is so."""
    window, before = kept[-_BLIND_MINUTES:], kept[:-_BLIND_MINUTES]
    if len(window) < _BLIND_MINUTES or any(one.found_l2 is None for one in window):
        return None
    asked, found = total(window, lambda one: one.lookup_tokens), total(window, lambda one: one.found_l2)
    written = total(window, lambda one: one.stores_completed)
    usual_asked, usual_found = total(before, lambda one: one.lookup_tokens), total(before, lambda one: one.found_l2)
    if found or asked is None or asked < _LEAST_TOKENS or written is None or written < LEAST_CHUNKS:
        return None
    if is_firing:
        return "finds", f"{subject.name} writes to it and finds nothing in it", 1.0
    if not usual_asked or (usual_found or 0.0) < _USUAL_SHARE * usual_asked:
        return None
    usual = (usual_found or 0.0) / usual_asked
    if usual * asked < _LEAST_TOKENS or not _holds(window, before):
        return None
    return "finds", f"{subject.name} writes to it and finds nothing in it ({format_ratio(usual)} before)", usual


def _holds(window: Sequence[Minute], before: Sequence[Minute]) -> bool:
    """L0 serves as usual: where it doesn't, other prompts come in, and no tier finds what was never stored."""
    now, then = _l0_share(window), _l0_share(before)
    return now is not None and then is not None and now >= _L0_HOLDS * then


def _l0_share(window: Sequence[Minute]) -> float | None:
    l0, prompt = total(window, lambda one: one.l0), total(window, lambda one: one.prompt_tokens)
    return l0 / prompt if l0 is not None and prompt else None
