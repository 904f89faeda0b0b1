"""A pool that fills up: by its room and the pace of its last hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierdeck.alerts.alert import Subject
from tierdeck.alerts.conditions.recent import MINUTE, Recent
from tierdeck.alerts.conditions.room import Room
from tierdeck.alerts.judgement import Judgement
from tierdeck.alerts.minute import Scene
from tierdeck.alerts.rules import POOL_FILLING, POOL_FULL
from tierdeck.units import format_ratio, format_size

_WINDOW_MINUTES = 60
_LEAST_MINUTES = 15
_SOON_SECONDS = 4 * 3600.0
_HALF = 0.5
"""Less than half full, a pool that fills is one that has just begun: what will stop it is not known yet."""
_LEAST_LOSS = 0.01
"""Of the capacity in the window: a pool that somebody keeps at its brim by evicting goes up and down by less."""


class PoolFilling:
    """Judges `pool_filling` and `pool_full` for each pool."""

    def __init__(self) -> None:
        self._recent: Recent[tuple[float, float]] = Recent(_WINDOW_MINUTES)
        self._room = Room()

    def judge(self, scene: Scene) -> Iterable[Judgement]:
        self._recent.keep_only(scene.pools)
        full = self._room.full(scene)
        for subject, pool in scene.pools.items():
            capacity, available = pool.capacity_bytes, pool.available_bytes
            if not capacity or available is None:
                yield from (Judgement(rule.name, subject, None) for rule in (POOL_FULL, POOL_FILLING))
                continue
            yield _fullness(subject, capacity, available, is_full=subject in full)
            kept = self._recent.add(subject, scene.at, (capacity, available))
            yield _filling(subject, kept, is_ruled_out=subject in full or self._room.is_evicting(subject))


def _fullness(subject: Subject, capacity: float, available: float, *, is_full: bool) -> Judgement:
    return Judgement(
        POOL_FULL.name,
        subject,
        is_full,
        is_clear=not is_full,
        value=1 - available / capacity,
        depth=1 - available / capacity,
        words=f"Of the pool {subject.name}, {_room(capacity, available)}, and nothing more is stored in it.",
        evidence={"available": format_size(available), "capacity": format_size(capacity)},
    )


Kept = Sequence[tuple[float, tuple[float, float]]]


def _filling(subject: Subject, kept: Kept, *, is_ruled_out: bool) -> Judgement:
    """One that is full fills no more, and one in which somebody makes room may fill as it likes."""
    capacity, available = kept[-1][1]
    room, pace = available / capacity, _pace(kept)
    left = available / pace if pace is not None and pace > 0 else None
    is_losing = (_loss(kept) or 0.0) > _LEAST_LOSS * capacity and (_loss(_late(kept)) or 0.0) > 0
    is_losing = is_losing and _is_lower(kept)
    when = f", and at the last hour's pace it is full in {_hours(left)}" if left is not None else ""
    return Judgement(
        POOL_FILLING.name,
        subject,
        is_losing and left is not None and left < _SOON_SECONDS and room < _HALF and not is_ruled_out,
        is_clear=is_ruled_out or not is_losing or left is None or left > 2 * _SOON_SECONDS or room >= _HALF,
        value=left,
        depth=room,
        words=f"Of the pool {subject.name}, {_room(capacity, available)}{when}.",
        evidence={"available": format_size(available), "capacity": format_size(capacity)}
        | ({"net writes": f"{format_size(pace)}/s"} if pace is not None else {}),
    )


def _room(capacity: float, available: float) -> str:
    return f"{format_size(available)} of {format_size(capacity)} are free ({format_ratio(available / capacity)})"


def _pace(kept: Kept) -> float | None:
    """Bytes a second by which room went over the window; None: as of `_loss`."""
    loss = _loss(kept)
    return None if loss is None else loss / (kept[-1][0] - kept[0][0])


def _loss(kept: Kept) -> float | None:
    """Bytes by which room went over the window; None: too short, or the capacity changed in it."""
    (first_at, (first_capacity, first)), (last_at, (last_capacity, last)) = kept[0], kept[-1]
    if last_at - first_at < _LEAST_MINUTES * MINUTE or first_capacity != last_capacity:
        return None
    return first - last


def _late(kept: Kept) -> Kept:
    """Its last quarter of an hour: a pool that is kept at its brim goes no further."""
    return [one for one in kept if one[0] >= kept[-1][0] - _LEAST_MINUTES * MINUTE]


def _is_lower(kept: Kept) -> bool:
    """There is less room than there was at any time before the last quarter of an hour: in a pool in which somebody
    makes room now and then, such as a janitor, there is not.
    """
    before = [room for at, (_, room) in kept if at <= kept[-1][0] - _LEAST_MINUTES * MINUTE]
    return not before or kept[-1][1][1] < min(before)


def _hours(seconds: float) -> str:
    minutes = max(0, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
