"""How long a pool's room lasts, the time to live that it would take to hold, and what else can be done.

Source: Curvine deletes a file when its time to live is over since it was last modified, in whole hours (its buckets),
up to a period of its checker later, which is an hour unless the master is told otherwise. Its eviction by quota frees
nothing, and says that it did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import pstdev

from tierdeck.figure import Figure
from tierdeck.l2.pool_file import PoolRoom
from tierdeck.units import format_seconds, format_size

HOUR = 3600.0
CHECKER_SECONDS = 3600.0
"""The usual `ttl_checker_interval`."""
LEAST_SECONDS = 120.0
"""From less nobody can tell a pace."""
_SPREADS = 2.0
"""So many spreads above the mean is what has to be held."""


@dataclass(frozen=True, slots=True)
class Look:
    """How much a pool held at a moment (epoch seconds), and how much had been deleted by then, from any beginning."""

    at: float
    used_bytes: float
    deleted_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Bytes written a second.

    Attributes:
        mean: over all of it.
        spread: standard deviation between its parts; 0 where there is only one.
        seconds: for how long it was looked at.
    """

    mean: float
    spread: float
    seconds: float

    @property
    def busy(self) -> float:
        """What has to be reckoned with."""
        return self.mean + _SPREADS * self.spread


def pace(looks: Sequence[Look], part_seconds: float = 60.0) -> Pace | None:
    """From looks in order of time; None: they span too short a time.

    What was deleted meanwhile was written as well. Where use fell by more than that, somebody else deletes, and more
    was written than can be told.

    Args:
        part_seconds: parts of at least so long are compared, so that one file more or less is no spread.
    """
    if not looks or looks[-1].at - looks[0].at < LEAST_SECONDS:
        return None
    parts: list[tuple[float, float]] = []
    first = looks[0]
    for look in looks[1:]:
        if look.at - first.at >= part_seconds or look is looks[-1]:
            written = look.used_bytes - first.used_bytes + look.deleted_bytes - first.deleted_bytes
            if look.at > first.at:
                parts.append((written, look.at - first.at))
            first = look
    seconds = sum(span for _, span in parts)
    whole = [written / span for written, span in parts if span >= part_seconds / 2]
    return Pace(
        max(0.0, sum(written for written, _ in parts) / seconds), pstdev(whole) if len(whole) > 1 else 0.0, seconds
    )


@dataclass(frozen=True, slots=True)
class Lasting:
    """What becomes of a pool's room at its pace.

    Attributes:
        full_in_seconds: at the mean pace.
        full_soonest_seconds: at a busy one.
        ttl_hours: whole hours of time to live with which the pool stays below its mark at a busy pace.
        kept_bytes: what such a time to live keeps at the mean pace.
        can_ttl_hold: None: not known.
    """

    full_in_seconds: Figure
    full_soonest_seconds: Figure
    ttl_hours: Figure
    kept_bytes: Figure
    can_ttl_hold: bool | None


def lasting(
    room: PoolRoom | None,
    written: Pace | None,
    high: float,
    checker_seconds: float = CHECKER_SECONDS,
    reason: str = "the pool does not tell its room",
) -> Lasting:
    """
    Args:
        room: None: it is not known, and `reason` says why.
        written: None: it was not watched for long enough.
        high: the high-water mark, a share of the capacity.
        checker_seconds: how often the master looks for files whose time is over.
    """
    if room is None or written is None:
        why = reason if room is None else "the pool was not watched for long enough"
        unknown = Figure.unknown(why)
        return Lasting(unknown, unknown, unknown, unknown, can_ttl_hold=None)
    if written.mean <= 0:
        never = Figure.unknown("its use does not rise")
        return Lasting(never, never, never, never, can_ttl_hold=True)
    hours = math.floor((high * room.capacity_bytes / written.busy - checker_seconds) / HOUR)
    full = Figure(room.available_bytes / written.mean)
    soonest = Figure(room.available_bytes / written.busy)
    if hours < 1:
        shortest = f"even one hour, with up to {format_seconds(checker_seconds)} until the master looks, is too long"
        none = Figure.unknown(f"no time to live in whole hours holds: {shortest}")
        return Lasting(full, soonest, none, Figure.unknown(none.reason), can_ttl_hold=False)
    kept = min(room.capacity_bytes, written.mean * hours * HOUR)
    return Lasting(full, soonest, Figure(float(hours)), Figure(kept), can_ttl_hold=True)


OTHER_WAYS = (
    "The janitor deletes what has not been used for longest, and only as much as is needed.",
    (
        "LMCache as a server of its own (multi-process mode) with `fs_native` and an `eviction` block makes room by "
        "itself; then the janitor has to be off."
    ),
    "More workers make the pool larger without a restart; what is there stays where it is.",
    (
        "Curvine's own eviction by quota is no way: it frees no file without an expired time to live, and counts as "
        "if it had."
    ),
)


def advice(last: Lasting, high: float) -> tuple[str, ...]:
    """What can be done, in sentences."""
    if last.can_ttl_hold is None:
        return (f"How long the room lasts is not known: {last.full_in_seconds.reason}.",)
    said = []
    if last.ttl_hours.value is not None and last.kept_bytes.value is not None:
        said.append(
            f"A time to live of {last.ttl_hours.value:.0f} h (`client.ttl-ms`, `client.ttl-action: delete` in a new "
            f"StorageClass and claim) holds the pool below {high:.0%}: it keeps what was written in that time, "
            f"{format_size(last.kept_bytes.value)}, and deletes what is older however often it is read, since it "
            "counts from the last modification."
        )
    elif last.can_ttl_hold is False:
        said.append(f"A time to live can't hold this pool: {last.ttl_hours.reason}.")
    else:
        return (
            "Its use does not rise: nothing is written just now, or as much goes, as with a time to live that holds.",
        )
    return (*said, *OTHER_WAYS)
