"""Samples put together again as the pages that were scraped.

All series of one scrape carry the same instant, so that a target's samples of one instant are the page as
it was; what reads a page of a target reads this one. Engines that store samples a little apart are met by
taking instants that are close together as one scrape.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from collectors.prometheus.addresses import Address, Catalogue
from collectors.prometheus.selectors import OLD_LOOKUPS, STARTED, UP
from collectors.prometheus.server import Series

HEADER = "# put together from the series of a Prometheus\n"
_CLOSE_SECONDS = 0.5
"""Samples of one scrape are not further apart."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one scrape of a target gave; no lines where it failed."""

    at: float
    lines: Mapping[str, str]
    is_up: bool = True

    def body(self, help_text: Callable[[], str] = str) -> str:
        """The exposition.

        Args:
            help_text: HELP of `vllm:gpu_prefix_cache_queries`, asked only where it has a say in the meaning.
        """
        return _exposition([f"{series} {value}" for series, value in self.lines.items()], help_text)

    def series(self, help_text: Callable[[], str] = str) -> str:
        """The exposition with the values left out; `help_text` as above."""
        return _exposition(self.lines, help_text)

    @property
    def values_bytes(self) -> int:
        """What the values add to it, with the space in front of each."""
        return sum(map(len, self.lines.values())) + len(self.lines)


def _exposition(lines: Iterable[str], help_text: Callable[[], str]) -> str:
    samples = "\n".join(lines)
    told = f"# HELP {OLD_LOOKUPS} {help_text()}\n" if "gpu_prefix_cache_queries" in samples else ""
    return f"{HEADER}{told}{samples}\n"


@dataclass(slots=True)
class Pages:
    """Pages of one address, ascending.

    Attributes:
        falls: instants of the last page before a counter fell, the process changed or a scrape failed.
    """

    pages: list[Page] = field(default_factory=list)
    falls: list[float] = field(default_factory=list)

    def last(self, at: float) -> Page | None:
        """The last one up to a moment."""
        number = bisect_right(self.pages, at, key=lambda page: page.at)
        return self.pages[number - 1] if number else None

    def after(self, at: float) -> float:
        """The instant of the first one after a moment; infinite where there is none."""
        number = bisect_right(self.pages, at, key=lambda page: page.at)
        return self.pages[number].at if number < len(self.pages) else math.inf


@dataclass(slots=True)
class _Seen:
    """What one address gave: `{instant: {series: value}}`, its `up`, and where something fell."""

    samples: dict[float, dict[str, str]] = field(default_factory=dict)
    ups: dict[float, str] = field(default_factory=dict)
    falls: set[float] = field(default_factory=set)


class Sightings:
    """Collects the answers of several queries about one range of time."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._seen: dict[Address, _Seen] = {}

    def take(self, answers: Iterable[Series]) -> None:
        """File every sample under its address and instant."""
        place_of = self._catalogue.place
        place = None
        for answer in answers:
            place = place_of(answer["metric"], place)
            seen = self._seen.get(place.address)
            if seen is None:
                seen = self._seen[place.address] = _Seen()
            values: Sequence[tuple[float, str]] = answer.get("values") or [answer["value"]]
            if place.name == UP:
                seen.ups.update(values)
                continue
            samples, text = seen.samples, place.text
            for at, value in values:
                if at in samples:
                    samples[at][text] = value
                else:
                    samples[at] = {text: value}
            if place.grows and (len(values) > 2 or values[0][1] != values[-1][1]):
                seen.falls.update(_falls(values, is_start=place.name == STARTED))

    def pages(self, *, are_scrapes: bool = True) -> dict[Address, Pages]:
        """Pages of every address that is of ours; intervals are learned on the way.

        Args:
            are_scrapes: False where instants are a grid's.
        """
        found = {}
        for address, seen in self._seen.items():
            address.seen_at = max(address.seen_at, *seen.samples, *seen.ups)
            if address.kind is None:
                continue
            pages = _merged(seen.samples)
            known = {page.at for page in pages}
            failed = [Page(at, {}, is_up=False) for at, value in seen.ups.items() if value == "0" and at not in known]
            found[address] = _in_order((*pages, *failed), seen.falls)
            if are_scrapes and address.interval_seconds is None:
                address.interval_seconds = _interval(sorted(seen.ups if len(seen.ups) > 1 else known))
        return found


def _in_order(pages: Iterable[Page], falls: Iterable[float]) -> Pages:
    """With the last page before each restart, and before each failed scrape: it may be the process's last."""
    found = Pages(sorted(pages, key=lambda page: page.at))
    ends = {page.at for fall in falls if (page := found.last(fall)) is not None}
    ends |= {page.at for page, later in pairwise(found.pages) if page.is_up and not later.is_up}
    found.falls = sorted(ends)
    return found


def fullest_first(addresses: Iterable[Address], seen: Mapping[Address, Pages]) -> list[Address]:
    """Addresses with more pages first: of two that are one, the first is taken."""
    return sorted(addresses, key=lambda address: -len(seen[address].pages) if address in seen else 0)


def _interval(instants: Sequence[float]) -> float | None:
    """Seconds between scrapes; None for fewer than two."""
    apart = [later - earlier for earlier, later in pairwise(instants)]
    return statistics.median(apart) if apart else None


def _falls(values: Sequence[tuple[float, str]], *, is_start: bool) -> list[float]:
    """Instants after which a counter is less than before, or another process has started."""
    found = []
    (before_at, text), *rest = values
    before = float(text)
    for at, text in rest:
        number = float(text)
        if number < before or (is_start and number != before):
            found.append(before_at)
        before_at, before = at, number
    return found


def _merged(samples: Mapping[float, dict[str, str]]) -> list[Page]:
    pages: list[Page] = []
    lines: dict[str, str] = {}
    for at in sorted(samples):
        if pages and at - pages[-1].at < _CLOSE_SECONDS and not lines.keys() & samples[at].keys():
            lines |= samples[at]
        else:
            lines = dict(samples[at])
            pages.append(Page(at, lines))
    return pages
