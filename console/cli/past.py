"""The simulated fleet's past behind the page: the last minutes first, then the hour and the day before them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from console.cli.children import Children, Pipe
from db import Store
from tierdeck.backfill import Backfill
from tierdeck.settings import Settings

DAY_SECONDS = 86_400.0
MOST_SECONDS = 7 * DAY_SECONDS
_LEAST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the past that is filled in on its own, told as `name`.

    Attributes:
        far, near: where it begins and ends, in seconds before the deck's first start.
        step_seconds: from moment to moment; short for what charts draw scrape by scrape.
    """

    name: str
    far: float
    near: float
    step_seconds: float


STRETCHES = (
    Stretch("the simulated fleet's last minutes", 1200.0, 0.0, 5.0),
    Stretch("the simulated fleet's last hour", 3600.0, 1200.0, 60.0),
    Stretch("the simulated fleet's day", MOST_SECONDS, 3600.0, 60.0),
)
"""What one looks at first comes first."""


@dataclass(frozen=True, slots=True)
class Missing:
    """What is to be filled in of a stretch, in epoch seconds; `present`: the deck's first start."""

    stretch: Stretch
    start_at: float
    end_at: float
    present: float


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
        part = next(self._missing, None)
        if part is None:
            is_done, self._pipe = self._pipe is not None, None
            return "The history is filled in." if is_done else ""
        is_first = self._pipe is None
        self._pipe = self._start(part)
        return "Its history is being filled in behind the page." if is_first else ""

    def _start(self, part: Missing) -> Pipe:
        numbers = {"--from": part.start_at, "--to": part.end_at, "--step": part.stretch.step_seconds,
                   "--present": part.present}  # fmt: skip
        options = [text for name, number in numbers.items() for text in (name, f"{number:.0f}")]
        producer = ("lab", "history", "--name", part.stretch.name, *options)
        return self._children.pipe("history", producer, ("collectors", "backfill", "-"))


def missing(known: Mapping[str, Backfill], now: float, seconds: float) -> Iterator[Missing]:
    """What is to be filled in, what one looks at first coming first."""
    if seconds < _LEAST_SECONDS:
        return
    first = known.get(STRETCHES[0].name)
    present = now if first is None else first.end_at
    for stretch in STRETCHES:
        start_at, end_at = present - min(seconds, stretch.far), present - stretch.near
        before = known.get(stretch.name)
        if before is not None:
            start_at, end_at = before.done_at, before.end_at
        if start_at < end_at:
            yield Missing(stretch, start_at, end_at, present)
