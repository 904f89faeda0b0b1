"""Asks a server about a stretch of time: few queries, and smaller ones where an answer would be too large."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from collectors.garbage import not_looked_at
from collectors.prometheus.addresses import Address, Catalogue
from collectors.prometheus.errors import QueryTooLargeError
from collectors.prometheus.pages import Pages, Sightings
from collectors.prometheus.selectors import HISTOGRAMS, LOOKUPS, OLD_LOOKUPS, PLAIN, STARTS, UPS, Selector
from collectors.prometheus.server import Series

_LONGEST_MATCHER = 3000
"""Characters; what would be longer is not restricted."""
_INTERVALS_SECONDS = 600.0

Found = list[Series]
Ask = Callable[[str], Found]


class Answering(Protocol):
    """What is needed of a server (`collectors.prometheus.server.Server`)."""

    def instant(self, query: str, at: float) -> Found: ...

    def over(self, query: str, start: float, end: float, step_seconds: float) -> Found: ...

    def help_text(self, metric: str) -> str: ...


class Asking:
    """Questions about one fleet; it learns the fleet's addresses as it goes.

    Every method raises TierdeckError where the server does not answer as it should.
    """

    def __init__(self, server: Answering, match: str = "") -> None:
        """
        Args:
            match: PromQL matchers for every selector, such as `namespace="inference"`.
        """
        self._server = server
        self._match = match
        self._help: str | None = None
        self._jobs: set[str] = set()
        self.catalogue = Catalogue()

    @property
    def match(self) -> str:
        """The matchers that every selector has; empty for none."""
        return self._match

    @not_looked_at()
    def discover(self, at: float) -> None:
        """Learn which addresses there are at a moment, which labels are theirs, and how often they are scraped."""
        self._all(self._at(at))
        self._see(self._range(at - _INTERVALS_SECONDS, at), (LOOKUPS,)).pages()

    @not_looked_at()
    def raw(self, start: float, end: float, instances: Iterable[str] = ()) -> dict[Address, Pages]:
        """Every page of (start, end], epoch seconds.

        Args:
            instances: only of these values of the label `instance`; all by default.
        """
        return self._all(self._range(start, end), _one_of("instance", instances)).pages()

    @not_looked_at()
    def grid(self, start: int, end: int, step_seconds: int) -> dict[Address, Pages]:
        """The pages as they were at start, start + step, … end, in epoch seconds."""
        ask = lambda text: self._server.over(text, start, end, step_seconds)  # noqa: E731
        return self._all(ask).pages(are_scrapes=False)

    @not_looked_at()
    def resets(self, start: int, end: int, step_seconds: int) -> dict[Address, list[float]]:
        """Moments of the grid in whose step an engine's lookups fell, or ended for good, by address.

        One name at a time: `resets` leaves names away, and Prometheus refuses two series that are then alike.
        """
        found: dict[Address, list[float]] = {}
        known = {name for address in self.catalogue.addresses for name in address.names}

        def ask(text: str) -> Found:
            fell = f"resets({text}[{step_seconds}s])"
            return self._server.over(f"{fell} > 0 or {fell} unless {text}", start, end, step_seconds)

        for name in LOOKUPS.names:
            for entry in self._asked(Selector((name,)), ask) if name in known else ():
                address = self.catalogue.address(entry["metric"])
                found.setdefault(address, []).extend(float(at) for at, _ in entry["values"])
        return found

    def help_text(self) -> str:
        """HELP of the old prefix cache counter: some versions count blocks by it. Asked once."""
        if self._help is None:
            self._help = self._server.help_text(OLD_LOOKUPS)
        return self._help

    def _range(self, start: float, end: float) -> Ask:
        """Raw samples of (start, end]."""
        milliseconds = max(1, round(1000 * (end - start)))
        return lambda text: self._server.instant(f"{text}[{milliseconds}ms]", end)

    def _at(self, at: float) -> Ask:
        return lambda text: self._server.instant(text, at)

    def _all(self, ask: Ask, only: str = "") -> Sightings:
        sightings = self._see(ask, PLAIN, only)
        for selector in (*HISTOGRAMS, STARTS):
            sightings.take(self._asked(selector, ask, only))
        return sightings

    def _see(self, ask: Ask, selectors: Iterable[Selector], only: str = "") -> Sightings:
        """What selectors find, and `up` of those jobs, whose labels are to be known before a series is placed."""
        answers = [entry for selector in selectors for entry in self._asked(selector, ask, only)]
        self._jobs |= {entry["metric"].get("job", "") for entry in answers}
        ups = self._asked(UPS, ask, only)
        self.catalogue.learn_labels(entry["metric"] for entry in ups)
        sightings = Sightings(self.catalogue)
        sightings.take(ups)
        sightings.take(answers)
        return sightings

    def _asked(self, selector: Selector, ask: Ask, only: str = "") -> Found:
        if selector.by_job and not self._jobs:
            return []
        matchers = [self._match, only, _one_of("job", self._jobs) if selector.by_job else ""]
        try:
            return ask(selector.text(",".join(matcher for matcher in matchers if matcher)))
        except QueryTooLargeError:
            halves = selector.halves()
            if halves is None:
                raise
            return [entry for half in halves for entry in self._asked(half, ask, only)]


def _one_of(label: str, values: Iterable[str]) -> str:
    """A matcher, in which an empty value is a missing label; empty for no values, or for more than a query can hold."""
    wanted = sorted(values)
    text = "|".join(re.escape(value).replace("\\", "\\\\").replace('"', '\\"') for value in wanted)
    return f'{label}=~"{text}"' if wanted and len(text) <= _LONGEST_MATCHER else ""
