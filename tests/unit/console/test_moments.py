"""What stands under the time axis: crowded events as one, a restart once whoever tells it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from console.moments import event_rows, moments
from console.story import Span
from console.windows import WINDOWS
from tierdeck.events import EventKind
from tierdeck.resolution import Resolution

END = 1_700_000_400.0
COLUMNS = ("at", "cluster", "endpoint", "replica", "kind", "subject", "words", "detail")
SPAN = Span(WINDOWS["15m"], Resolution.RAW, END - 900, END, END)
"""Marks stand at least 900 s / 5 = 180 s apart."""


def at(seconds: float) -> pd.Timestamp:
    return pd.Timestamp(END - seconds, unit="s", tz="UTC")


def events(*some: tuple[float, EventKind, str]) -> pd.DataFrame:
    rows: list[tuple[object, ...]] = [
        (at(ago), "east", "inference/chat", replica, kind.value, "it", "it did", {}) for ago, kind, replica in some
    ]
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    return found.assign(at=pd.to_datetime(found["at"], utc=True))


def restarts(*some: tuple[float, str, int]) -> pd.DataFrame:
    rows: list[tuple[pd.Timestamp, str, int]] = [(at(ago), replica, many) for ago, replica, many in some]
    found = pd.DataFrame(rows, columns=["at", "replica", "restarts"])
    return found.assign(at=pd.to_datetime(found["at"], utc=True))


def words(
    happened: pd.DataFrame, counted: pd.DataFrame | None = None, *, is_fleet: bool = False
) -> Sequence[tuple[float, str]]:
    return [(END - one.at.timestamp(), one.words) for one in moments(SPAN, happened, counted, is_fleet=is_fleet)]


def test_a_lone_event_is_told_with_the_end_of_its_pod_s_name() -> None:
    found = words(events((600, EventKind.OOM, "chat-5d9f7c6b8-x2x4z"), (100, EventKind.ROLLOUT, "")))
    assert found == [(600, "oom …9f7c6b8-x2x4z"), (100, "rollout")]


def test_the_fleet_s_charts_name_the_endpoint() -> None:
    assert words(events((600, EventKind.OOM, "chat-0")), is_fleet=True) == [(600, "oom chat")]


def test_what_is_crowded_stands_as_one() -> None:
    kinds = (EventKind.RESTART, EventKind.RESTART, EventKind.OOM)
    assert words(events(*[(600 - ago, kind, "a") for ago, kind in enumerate(kinds)])) == [(600, "2 restarts, oom")]
    many = (EventKind.ROUTING_CHANGED, EventKind.SIZE_CHANGED, EventKind.ROLLOUT)
    assert words(events(*[(600 - ago, kind, "a") for ago, kind in enumerate(many)])) == [(600, "3 events")]
    # 180 s after the first of them the next mark may stand
    assert len(words(events((600, EventKind.OOM, "a"), (421, EventKind.OOM, "b")))) == 1
    assert len(words(events((600, EventKind.OOM, "a"), (420, EventKind.OOM, "b")))) == 2


def test_a_mark_near_an_end_keeps_its_neighbour_away() -> None:
    # within 72 s (8 %) of an end a mark stands beside its line: 270 s instead of 180 s
    assert len(words(events((300, EventKind.OOM, "a"), (71, EventKind.OOM, "b")))) == 1
    assert len(words(events((300, EventKind.OOM, "a"), (73, EventKind.OOM, "b")))) == 2
    assert len(words(events((341, EventKind.OOM, "a"), (71, EventKind.OOM, "b")))) == 2
    assert len(words(events((850, EventKind.OOM, "a"), (600, EventKind.OOM, "b")))) == 1


def test_a_mark_is_never_wider_than_its_room() -> None:
    assert words(events((600, EventKind.NODE_PRESSURE, "chat-5d9f7c6b8-x2x4z"))) == [(600, "node pressure")]
    assert words(events((600, EventKind.CRASH_LOOP, "chat-5d9f7c6b8-x2x4z"))) == [(600, "crash loop …-x2x4z")]


def test_a_restart_that_counters_show_is_not_told_again() -> None:
    happened = events((400, EventKind.OOM, "chat-0"))
    assert words(happened, restarts((385, "chat-0", 1))) == [(400, "oom chat-0")]
    # loading took two and a half minutes; 181 s are too long
    assert words(happened, restarts((250, "chat-0", 1))) == [(400, "oom chat-0")]
    assert words(happened, restarts((219, "chat-0", 1))) == [(400, "oom chat-0"), (219, "restart chat-0")]


def test_restarts_that_only_counters_show_stay() -> None:
    happened = events((400, EventKind.RESTART, "chat-0"))
    assert words(happened, restarts((390, "chat-1", 1))) == [(400, "2 restarts")]
    assert words(happened, restarts((390, "chat-0", 3))) == [(400, "3 restarts")]  # the event's one, and two more
    assert words(events(), restarts((390, "chat-0", 0))) == []


def test_one_event_accounts_for_one_restart() -> None:
    happened = events((400, EventKind.RESTART, "chat-0"))
    assert words(happened, restarts((390, "chat-0", 1), (300, "chat-0", 1))) == [(400, "2 restarts")]


def test_the_table_tells_the_day_where_it_is_another() -> None:
    rows = event_rows(events((100, EventKind.NODE_GONE, ""), (86400, EventKind.OOM, "a")), at(0))
    assert rows["when (UTC)"].tolist() == ["22:18:20", "13 Nov 22:20:00"]
    assert rows["what"].tolist() == ["node gone", "oom"]
    assert event_rows(events(), at(0)).empty
