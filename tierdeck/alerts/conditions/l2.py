"""L2, of the pool or at one endpoint: workers lost, stores that never complete, finds not loaded, nothing found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tierdeck.account import PoolAccount
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import Recent, total
from tierdeck.alerts.conditions.room import Room
from tierdeck.alerts.conditions.stores import ALL_STORED, LEAST_CHUNKS, stored
from tierdeck.alerts.conditions.users import Users
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.life import ENDED
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
_MOST_FOUND = 1.25
"""Of the prompt tokens: more can't be found, so that the counts don't belong together; as in `tierdeck.identities`."""
_LEAST_TOKENS = 5_000.0
_BLIND_MINUTES = 5
_USUAL_SHARE = 0.1
"""L2 must have served as much of the lookups before, for nothing found now to mean anything."""

_L0_HOLDS = 0.7
"""Of its usual share."""


_LEAST_ENDPOINTS = 2
_POOLS_SHARE = 0.5
"""Of the endpoints that are busy enough to tell: if so many see it, the pool is out; it is well below half of that."""

Sign = tuple[str, str, float]
"""What kind, in words, and how deep."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one endpoint tells: its signs, whether it tells anything, and whether it is busy enough to show one."""

    signs: tuple[Sign, ...]
    is_told: bool
    is_busy: bool


@dataclass(frozen=True, slots=True)
class _Cluster:
    """One cluster in one minute.

    Attributes:
        spared: endpoints that do not use L2.
        is_full: a pool of it is, which has its own alert.
    """

    name: str
    scene: Scene
    spared: tuple[str, ...]
    is_full: bool

    def of(self, subject: Subject) -> bool:
        return subject.cluster == self.name

    def fires(self, subject: Subject) -> bool:
        return (L2_OUTAGE.name, subject) in self.scene.firing


class L2Outage:
    """Judges `l2_outage` of each cluster's pools, which its endpoints share, and of each endpoint by itself.

    What one endpoint sees may be its own mount. What most of those see that are busy enough to tell is the pool's, is
    said once, of the pool, and reaches those that use it.
    """

    def __init__(self) -> None:
        self._minutes: Recent[Minute] = Recent(_LONG_MINUTES)
        self._lost: Recent[float] = Recent(_DAY_MINUTES)
        self._blind: set[Subject] = set()
        self._room = Room()
        self._users = Users()

    def learn(self, lost: Iterable[tuple[float, Subject, float]]) -> None:
        """Workers that did not beat, of the day before the first scene: when, which pool, how many; in order."""
        for at, subject, away in lost:
            self._lost.add(subject, at, away)

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._minutes.keep_only(scene.minutes)
        self._lost.keep_only(scene.pools)
        self._blind &= scene.minutes.keys()
        full = {subject.cluster for subject in self._room.full(scene)}
        spared = self._users.spared(scene)
        for name in sorted({subject.cluster for subject in (*scene.minutes, *scene.pools)}):
            yield from self._judged(_Cluster(name, scene, spared.get(name, ()), name in full))

    def _judged(self, cluster: _Cluster) -> Iterator[Judgement]:
        scene, place = cluster.scene, Subject(cluster.name, POOL)
        gone = {
            subject: self._gone(scene.at, subject, pool) for subject, pool in scene.pools.items() if cluster.of(subject)
        }
        stay_away = [f"{still:.0f} of {pool.name}" for pool, (_, still) in gone.items() if still]
        workers = [
            ("workers", f"{away:.0f} workers of {pool.name} are lost", away) for pool, (away, _) in gone.items() if away
        ]
        seen = {
            subject: self._seen(cluster, subject, minute)
            for subject, minute in scene.minutes.items()
            if cluster.of(subject)
        }
        ill, busy = sum(bool(one.signs) for one in seen.values()), sum(one.is_busy for one in seen.values())
        is_most = ill >= _LEAST_ENDPOINTS and ill >= _POOLS_SHARE * busy
        goes_on = cluster.fires(place) and ill >= _LEAST_ENDPOINTS and ill >= _POOLS_SHARE / 2 * busy
        is_told = any(one.is_told for one in seen.values()) or any(away is not None for away, _ in gone.values())
        is_pools = bool(workers) or is_most or goes_on
        every = [*workers, *(sign for one in seen.values() for sign in one.signs)] if is_pools else []
        judged = _said(
            place, every, is_bad=(bool(workers) or is_most) if is_told else None, is_clear=is_told and not is_pools
        )
        if judged.is_clear and stay_away:
            judged = replace(judged, evidence={ENDED: f"workers are still lost, for a day: {', '.join(stay_away)}"})
        yield replace(judged, spared=cluster.spared)
        for subject, one in seen.items():
            # what is the pool's is said of the pool; what was said of an endpoint before stays until it is over
            is_own = bool(one.signs) and (not is_pools or cluster.fires(subject))
            yield _said(subject, one.signs, is_bad=is_own if one.is_told else None,
                        is_clear=one.is_told and not one.signs)  # fmt: skip

    def _seen(self, cluster: _Cluster, subject: Subject, minute: Minute) -> _Seen:
        kept = [one for _, one in self._minutes.add(subject, cluster.scene.at, minute)]
        found = (
            _not_stored(subject, kept, is_full=cluster.is_full),
            _not_loaded(subject, kept),
            self._finds_nothing(cluster, subject, kept),
        )
        asked = total(kept[-_SHORT_MINUTES:], lambda one: one.lookup_tokens) or 0.0
        return _Seen(
            tuple(sign for sign in found if sign is not None),
            is_told=minute.stores_submitted is not None or minute.found_l2 is not None,
            is_busy=stored(kept[-_STORE_MINUTES:]) is not None or asked >= _LEAST_TOKENS,
        )

    def _finds_nothing(self, cluster: _Cluster, subject: Subject, kept: Sequence[Minute]) -> Sign | None:
        """Remembers of whom that was a sign, as others usually find nothing: it lasts while the alert fires.

        Of one that fires before the first scene it may have been.
        """
        is_firing = cluster.fires(subject) or cluster.fires(Subject(cluster.name, POOL))
        if is_firing and len(kept) == 1:
            self._blind.add(subject)
        sign = _finds_nothing(subject, kept, goes_on=is_firing and subject in self._blind)
        if sign is not None:
            self._blind.add(subject)
        elif not is_firing or any(one.found_l2 for one in kept[-_BLIND_MINUTES:]):
            self._blind.discard(subject)
        return sign

    def _gone(self, at: float, subject: Subject, pool: PoolAccount) -> tuple[float | None, float]:
        """Workers that do not beat now and did within the day; and those lost before, which is how it is by now."""
        if pool.lost is None and pool.blacklisted is None:
            return None, 0.0
        away = (pool.lost or 0.0) + (pool.blacklisted or 0.0)
        usual = min(value for _, value in self._lost.add(subject, at, away))
        return away - usual, usual


def _said(subject: Subject, signs: Sequence[Sign], *, is_bad: bool | None, is_clear: bool) -> Judgement:
    share = max((depth for name, _, depth in signs if name != "workers"), default=None)
    return Judgement(
        L2_OUTAGE.name,
        subject,
        is_bad,
        is_clear=is_clear,
        value=share,
        depth=share if share is not None else float(len(signs)) or None,
        words=f"L2 is not working: {'; '.join(words for _, words, _ in signs[:3])}."
        + (f" And {len(signs) - 3} signs more." if len(signs) > 3 else ""),
        evidence={name: words for name, words, _ in reversed(signs)},
    )


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
    if found > _MOST_FOUND * prompt:
        return None
    share = (found - loaded - l0) / prompt
    if share < _UNLOADED_SHARE:
        return None
    return "loads", f"{subject.name} does not load what is found in it ({format_ratio(share)} of its tokens)", share


def _finds_nothing(subject: Subject, kept: Sequence[Minute], *, goes_on: bool) -> Sign | None:
    """Written to, asked, and nothing is ever found, where it used to be; `goes_on`: that it used to be is known."""
    window, before = kept[-_BLIND_MINUTES:], kept[:-_BLIND_MINUTES]
    if len(window) < _BLIND_MINUTES or any(one.found_l2 is None for one in window):
        return None
    asked, found = total(window, lambda one: one.lookup_tokens), total(window, lambda one: one.found_l2)
    written = total(window, lambda one: one.stores_completed)
    usual_asked, usual_found = total(before, lambda one: one.lookup_tokens), total(before, lambda one: one.found_l2)
    if found or asked is None or asked < _LEAST_TOKENS or written is None or written < LEAST_CHUNKS:
        return None
    if goes_on:
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
