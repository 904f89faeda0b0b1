"""The simulated fleet's past behind the page: the last hour first, then the day before it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from enum import StrEnum

from console.cli.children import Children, Pipe
from db import Store
from tierdeck.backfill import Backfill
from tierdeck.settings import Settings

DAY_SECONDS = 86_400.0
MOST_SECONDS = 7 * DAY_SECONDS
_LAST_SECONDS = 3600.0
_LEAST_SECONDS = 60.0


class Stretch(StrEnum):
    """What is filled in on its own; the value is the recording's name."""

    LAST = "the simulated fleet's last hour"
    REST = "the simulated fleet's day"


class Past:
    """Fills history in, one stretch after the other; it goes on where an earlier start was cut off."""

    def __init__(self, settings: Settings, children: Children, seconds: float = DAY_SECONDS) -> None:
        """
        Args:
            seconds: how far back; 0 for no history.
        """
        assert 0 <= seconds <= MOST_SECONDS, "the command checks it"
        self._children = children
        self._pipe: Pipe | None = None
        with Store.open(settings.store_url) as store:
            known = {one.source: one for one in store.backfills(settings.cluster)}
        self._missing = missing(known, time.time(), seconds)

    def go_on(self) -> str:
        """Begin the next stretch once the one before is done; what is worth telling, mostly nothing."""
        if self._pipe is not None and self._pipe.ended() is None:
            return ""
        if self._pipe is not None and not self._pipe.ended():
            self._pipe, self._missing = None, iter(())
            return "The history could not be filled in; the next start goes on with it. Log: logs/history.log"
        stretch = next(self._missing, None)
        if stretch is None:
            is_done, self._pipe = self._pipe is not None, None
            return "The history is filled in." if is_done else ""
        is_first = self._pipe is None
        self._pipe = self._start(*stretch)
        return "Its history is being filled in behind the page, the last hour first." if is_first else ""

    def _start(self, name: Stretch, start_at: float, end_at: float) -> Pipe:
        span = ("--from", f"{start_at:.0f}", "--to", f"{end_at:.0f}")
        return self._children.pipe(
            "history", ("lab", "history", "--name", name, *span), ("collectors", "backfill", "-")
        )


def missing(known: dict[str, Backfill], now: float, seconds: float) -> Iterator[tuple[Stretch, float, float]]:
    """What is to be filled in: (which, from, to) in epoch seconds."""
    if seconds < _LEAST_SECONDS:
        return
    last = known.get(Stretch.LAST)
    end_at = now if last is None else last.end_at
    start_at = end_at - min(seconds, _LAST_SECONDS) if last is None else last.start_at
    done_at = start_at if last is None else last.done_at
    if done_at < end_at:
        yield Stretch.LAST, done_at, end_at
    rest = known.get(Stretch.REST)
    first_at, done_at = (end_at - seconds,) * 2 if rest is None else (rest.start_at, rest.done_at)
    rest_end_at = start_at if rest is None else rest.end_at
    if first_at < rest_end_at and done_at < rest_end_at:
        yield Stretch.REST, done_at, rest_end_at
