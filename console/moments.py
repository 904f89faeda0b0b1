"""What stands under the time axis of a page's charts: events in a word or two, crowded ones as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from console.alert_marks import Stretch
from console.story import Span
from tierdeck.events import EventKind
from tierdeck.fleet import POOL
from tierdeck.naming import short_name

MARKED_FOR_FLEET = tuple(
    kind for kind in EventKind
    if kind not in (EventKind.RESTART, EventKind.SCALED_IN, EventKind.SCALED_OUT, EventKind.IMAGE_CHANGED)
)  # fmt: skip
"""What is worth a mark on the whole fleet's charts; an image changes with its rollout."""
_RESTARTS = (EventKind.RESTART, EventKind.OOM)
_MOST_MOMENTS = 5
_WIDEST = 18
"""Letters of a mark: more would run into the next one."""
_LEAST_NAME = 6
_EDGE = 0.08
"""Of the window: a mark so near to an end stands to one side of its line, and its neighbour keeps more distance."""
_SCRAPED_LATE = pd.Timedelta(seconds=180)
"""A counter shows a restart at the first scrape after it; loading a model takes its time."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened at `at` (UTC), in a word or two."""

    at: pd.Timestamp
    words: str


@dataclass(frozen=True, slots=True)
class _Thing:
    at: pd.Timestamp
    label: str
    whose: str
    many: int = 1


def moments(
    span: Span,
    events: pd.DataFrame,
    restarts: pd.DataFrame | None = None,
    stretches: Sequence[Stretch] = (),
    more: Sequence[Moment] = (),
    *,
    is_fleet: bool = False,
) -> tuple[Moment, ...]:
    """Oldest first.

    Args:
        events: of the window, as `Store.events` gives them.
        restarts: `at`, `replica`, `restarts` as counters tell them; those that events tell too are left out.
        stretches: of alerts and maintenance; those that began before the window are shaded only.
        more: further things, such as what gauges show.
        is_fleet: endpoints are named, not pods.
    """
    whose = events["endpoint"].map(short_name) if is_fleet else events["replica"]
    things = [
        _Thing(at, EventKind(kind).label, name)
        for at, kind, name in zip(events["at"], events["kind"], whose, strict=True)
    ]
    things += [
        _Thing(one.start, one.kind.label, short_name(one.whose) if is_fleet else "")
        for one in stretches if one.start > span.start
    ]  # fmt: skip
    things += [_Thing(one.at, one.words, "") for one in more]
    if restarts is not None:
        things += _counted(restarts, events, span)
    groups: list[list[_Thing]] = []
    for thing in sorted(things, key=lambda one: one.at):
        if groups and not _are_apart(span, groups[-1][0].at, thing.at):
            groups[-1].append(thing)
        else:
            groups.append([thing])
    return tuple(Moment(group[0].at, _words(group)) for group in groups)


def _are_apart(span: Span, one: pd.Timestamp, later: pd.Timestamp) -> bool:
    apart, edge = (pd.Timedelta(seconds=span.window.seconds * share) for share in (1 / _MOST_MOMENTS, _EDGE))
    is_aside = one < span.start + edge or later > span.end - edge
    return later - one >= (1.5 * apart if is_aside else apart)


def _counted(restarts: pd.DataFrame, events: pd.DataFrame, span: Span) -> list[_Thing]:
    """Restarts that no event tells: of a pod's restarts near its events, as many as there are events are those."""
    width = pd.Timedelta(seconds=span.resolution.value)
    told = events[events["kind"].isin(_RESTARTS)]
    left = {replica: sorted(some) for replica, some in told.groupby("replica")["at"]}
    found = []
    rows = restarts[restarts["restarts"] > 0].sort_values("at")
    for at, replica, counted in zip(rows["at"], rows["replica"], rows["restarts"], strict=True):
        near = [one for one in left.get(replica, []) if at - _SCRAPED_LATE <= one <= at + width][: int(counted)]
        left[replica] = [one for one in left.get(replica, []) if one not in near]
        if counted > len(near):
            found.append(_Thing(at, EventKind.RESTART.label, replica, int(counted) - len(near)))
    return found


def _words(group: Sequence[_Thing]) -> str:
    counts: Counter[str] = Counter()
    for thing in group:
        counts[thing.label] += thing.many
    if sum(counts.values()) == 1:
        room = _WIDEST - len(group[0].label) - 1
        return f"{group[0].label} {_cut(group[0].whose, room)}".strip()
    words = ", ".join(label if many == 1 else _plural(label, many) for label, many in counts.items())
    return words if len(words) <= _WIDEST else f"{sum(counts.values())} events"


def _plural(label: str, many: int) -> str:
    return f"{many} {label}s" if label in ("restart", "rollout", "alert") else f"{many} × {label}"


def _cut(name: str, room: int) -> str:
    """The end of a long name: pods of one Deployment differ there; nothing where that would say nothing."""
    if len(name) <= room:
        return name
    return "…" + name[1 - room :] if room >= _LEAST_NAME else ""


def event_rows(events: pd.DataFrame, now: pd.Timestamp) -> pd.DataFrame:
    """A table for people: when (UTC), what, where, words; the newest first."""
    today = events["at"].dt.date == now.date()
    return pd.DataFrame(
        {
            "when (UTC)": events["at"].dt.strftime("%H:%M:%S").where(today, events["at"].dt.strftime("%d %b %H:%M:%S")),
            "what": [EventKind(kind).label for kind in events["kind"]],
            "endpoint": events["endpoint"].replace({POOL: "(pool)", "": "(cluster)"}),
            "where": events["subject"],
            "in words": events["words"],
        }
    )
