"""How long until a pool is full: by its room, and the pace at which that went over the last hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tierdeck.figure import Figure
from tierdeck.units import format_size

WINDOW_SECONDS = 3600.0
LEAST_SECONDS = 900.0
"""A shorter past tells no pace."""
_LEAST_LOSS = 0.01
"""Of the capacity in the window: a pool that somebody keeps at its brim by evicting goes up and down by less."""

_STRANDED_BYTES = 128.0 * 2**20
"""Curvine's usual block: a worker that has no more than that free takes none, and the write fails (EIO)."""

RoomAt = tuple[float, tuple[float, float]]
"""An instant in epoch seconds, and capacity and available bytes then."""


@dataclass(frozen=True, slots=True)
class Fill:
    """What becomes of a pool's room.

    Attributes:
        pace: bytes a second by which room goes; negative where it grows.
        left_seconds: until there is none at that pace; unknown where room does not go.
        is_losing: room goes by more than a pool does that is kept at its brim, also in the last quarter of an hour,
            and nobody makes room now and then.
    """

    pace: Figure
    left_seconds: Figure
    is_losing: bool


def is_full(available: float | None, live: float | None) -> bool:
    """Nothing can be written any more: what is free is what so many live workers keep; not known: one."""
    return available is not None and available <= _STRANDED_BYTES * max(1.0, live or 0.0)


def full_words(available: float, live: float | None) -> str:
    """Why it is full though something is free."""
    if not available:
        return "nothing more can be written"
    whose = "the last worker" if live == 1 else "each worker"
    return f"{format_size(available)} free: {whose} keeps its last {format_size(_STRANDED_BYTES)}"


def fill_of(kept: Sequence[RoomAt]) -> Fill:
    """From the last hour, oldest first; at least one reading."""
    capacity, available = kept[-1][1]
    lost = _loss(kept)
    if lost.value is None:
        return Fill(lost, lost, is_losing=False)
    pace = lost.value / (kept[-1][0] - kept[0][0])
    left = Figure(available / pace) if pace > 0 else Figure.unknown("its room does not go down")
    late = _loss(_late(kept))
    is_losing = lost.value > _LEAST_LOSS * capacity and late.value is not None and late.value > 0 and _is_lower(kept)
    return Fill(Figure(pace), left, is_losing)


def _loss(kept: Sequence[RoomAt]) -> Figure:
    """Bytes by which room went over the window."""
    (first_at, (first_capacity, first)), (last_at, (last_capacity, last)) = kept[0], kept[-1]
    if last_at - first_at < LEAST_SECONDS:
        return Figure.unknown("less than 15 minutes of its past are known")
    if first_capacity != last_capacity:
        return Figure.unknown("its capacity changed within the hour")
    return Figure(first - last)


def _late(kept: Sequence[RoomAt]) -> Sequence[RoomAt]:
    """Its last quarter of an hour: a pool that is kept at its brim goes no further."""
    return [one for one in kept if one[0] >= kept[-1][0] - LEAST_SECONDS]


def _is_lower(kept: Sequence[RoomAt]) -> bool:
    """There is less room than at any time before the last quarter of an hour: where somebody makes room, a janitor
    for one, there is not.
    """
    before = [room for at, (_, room) in kept if at <= kept[-1][0] - LEAST_SECONDS]
    return not before or kept[-1][1][1] < min(before)


def hours_words(seconds: float) -> str:
    """`2 h 05 min`, `12 min`."""
    minutes = max(0, round(seconds / 60))
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
