"""A stretch of the past: pages on a coarse grid, and every scrape where something happened in between.

Counters only grow, so that a page every few minutes tells as much as one every 15 seconds, except where a
process ended: what it did after the last page of the grid is in its last scrape, which is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from collectors.prometheus.addresses import Address
from collectors.prometheus.asking import Asking
from collectors.prometheus.pages import Page, Pages
from collectors.prometheus.selectors import STARTED

_SAMPLES = 400_000
"""Of one chunk: what an answer may hold so that this process stays small."""
_POINTS = 10_000
"""Of one series in one answer: Prometheus gives 11,000 at most."""
_AT_ONCE = 50
"""Addresses whose every scrape is asked for in one go."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Moments in epoch seconds, ascending, and the pages up to the last of them."""

    moments: tuple[float, ...]
    seen: Mapping[Address, Pages]


def chunks(asking: Asking, start: int, end: int, step_seconds: int) -> Iterator[Chunk]:
    """[start, end] in chunks that follow one another; the first begins with the moment `start` itself.

    Args:
        end: start plus whole steps.
    """
    at, is_first = start, True
    while at < end:
        points = min(_POINTS, max(1, _SAMPLES // max(1, asking.catalogue.size)))
        until = min(end, at + points * step_seconds)
        grid = asking.grid(at, until, step_seconds)
        _add_scrapes(asking, grid, at, until, step_seconds)
        moments = range(at if is_first else at + step_seconds, until + 1, step_seconds)
        yield Chunk(tuple(float(moment) for moment in moments), grid)
        at, is_first = until, False


def _add_scrapes(asking: Asking, grid: dict[Address, Pages], start: int, end: int, step_seconds: int) -> None:
    """Where a process ended between two moments, put in its last page."""
    wanted: dict[float, set[Address]] = {}
    for address, found in asking.resets(start + step_seconds, end, step_seconds).items():
        for at in found:
            wanted.setdefault(at, set()).add(address)
    for address, pages in grid.items():
        for at in _ended(pages, range(start, end + 1, step_seconds)):
            wanted.setdefault(at, set()).add(address)
    for at, addresses in sorted(wanted.items()):
        some = sorted(addresses, key=lambda address: address.told)
        for number in range(0, len(some), _AT_ONCE):
            group = some[number : number + _AT_ONCE]
            instances = {address.labels.get("instance", "") for address in group}
            raw = asking.raw(at - step_seconds, at, instances - {""})
            for address in group:
                if address in raw:
                    _insert(grid.setdefault(address, Pages()), raw[address], at)


def _ended(pages: Pages, moments: range) -> Iterator[float]:
    """Moments by which a process had ended that was there a step before, or before one that began in that step."""
    by_moment = {page.at: page for page in pages.pages}
    falls = set(pages.falls)
    for before, at in pairwise(moments):
        earlier, later = by_moment.get(before), by_moment.get(at)
        if earlier is None or not earlier.is_up:
            if later is not None and _start(later) > before:
                yield float(at)
        elif later is None or not later.is_up or before in falls or _start(earlier) != _start(later):
            yield float(at)


def _start(page: Page) -> float:
    return float(page.lines.get(STARTED, -math.inf))


def _insert(into: Pages, raw: Pages, at: float) -> None:
    """The last page before each end; scrapes that only add to it are left out."""
    ends = [page for page in raw.pages if page.is_up and page.at in set(raw.falls)]
    if into.last(at) is None or not any(page.at == at and page.is_up for page in into.pages):
        ends += [page for page in raw.pages if page.is_up][-1:]
    known = {page.at for page in into.pages}
    into.pages = sorted((*into.pages, *(page for page in ends if page.at not in known)), key=lambda page: page.at)
    into.falls = sorted({*into.falls, *(page.at for page in ends)})
