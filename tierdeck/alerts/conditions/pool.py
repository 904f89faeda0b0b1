"""A pool that fills up: by its room and the pace of its last hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import MINUTE, Recent
from tierdeck.alerts.conditions.room import Room
from tierdeck.alerts.conditions.users import Users
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Scene
from tierdeck.alerts.rules import POOL_FILLING, POOL_FULL
from tierdeck.l2.fill import WINDOW_SECONDS, RoomAt, fill_of, hours_words
from tierdeck.units import format_ratio, format_size

_WINDOW_MINUTES = round(WINDOW_SECONDS / MINUTE)
_SOON_SECONDS = 4 * 3600.0
_LOST = "nothing more is stored in it"
_UNTOLD = "no LMCache server tells whether more is stored in it: somebody may be making room, or nobody"
_HALF = 0.5
"""Less than half full, a pool that fills is one that has just begun: what will stop it is not known yet."""


class PoolFilling:
    """Judges `pool_filling` and `pool_full` for each pool."""

    def __init__(self) -> None:
        self._recent: Recent[tuple[float, float]] = Recent(_WINDOW_MINUTES)
        self._room = Room()
        self._users = Users()

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._recent.keep_only(scene.pools)
        full, spared = self._room.full(scene), self._users.spared(scene)
        for subject, pool in scene.pools.items():
            capacity, available = pool.capacity_bytes, pool.available_bytes
            if not capacity or available is None:
                yield from (Judgement(rule.name, subject, None) for rule in (POOL_FULL, POOL_FILLING))
                continue
            stored = _LOST if self._room.is_told(subject) else _UNTOLD
            fullness = _fullness(subject, (capacity, available), stored, is_full=subject in full)
            yield replace(fullness, spared=spared.get(subject.cluster, ()))
            kept = self._recent.add(subject, scene.at, (capacity, available))
            yield _filling(subject, kept, is_ruled_out=subject in full or self._room.is_evicting(subject))


def _fullness(subject: Subject, room: tuple[float, float], stored: str, *, is_full: bool) -> Judgement:
    capacity, available = room
    return Judgement(
        POOL_FULL.name,
        subject,
        is_full,
        is_clear=not is_full,
        value=1 - available / capacity,
        depth=1 - available / capacity,
        words=f"Of the pool {subject.name}, {_room(capacity, available)}, and {stored}.",
        evidence={"available": format_size(available), "capacity": format_size(capacity)},
    )


def _filling(subject: Subject, kept: Sequence[RoomAt], *, is_ruled_out: bool) -> Judgement:
    """One that is full fills no more, and one in which somebody makes room may fill as it likes."""
    capacity, available = kept[-1][1]
    fill, room = fill_of(kept), available / capacity
    pace, left = fill.pace.value, fill.left_seconds.value
    when = f", and at the last hour's pace it is full in {hours_words(left)}" if left is not None else ""
    return Judgement(
        POOL_FILLING.name,
        subject,
        fill.is_losing and left is not None and left < _SOON_SECONDS and room < _HALF and not is_ruled_out,
        is_clear=is_ruled_out or not fill.is_losing or left is None or left > 2 * _SOON_SECONDS or room >= _HALF,
        value=left,
        depth=room,
        words=f"Of the pool {subject.name}, {_room(capacity, available)}{when}.",
        evidence={"available": format_size(available), "capacity": format_size(capacity)}
        | ({"net writes": f"{format_size(pace)}/s"} if pace is not None else {}),
    )


def _room(capacity: float, available: float) -> str:
    return f"{format_size(available)} of {format_size(capacity)} are free ({format_ratio(available / capacity)})"
