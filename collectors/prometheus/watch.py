"""A fleet's accountants: pages of a Prometheus in, rounds out, as if the targets had been scraped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.prometheus.addresses import Address
from collectors.prometheus.fleet import Observed
from collectors.prometheus.pages import Page, Pages
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.notes import Note
from tierdeck.rounds import Round, Scrape

_LATEST = 1.5
"""A page that is older than so many intervals is not the present one any more."""
_SHORTEST_SECONDS = 0.001
_UNKNOWN_INTERVAL_SECONDS = 60.0
_NO_SAMPLE = "Prometheus has no present sample of it"

Memories = Mapping[ReplicaKey, Mapping[str, object]]


@dataclass(slots=True)
class _Watched:
    """One replica: its accountant, and the last page of each of its targets."""

    accountant: ReplicaAccountant
    at: float
    pages: dict[str, Page] = field(default_factory=dict)


class Watch:
    """Accountants of all replicas that were ever seen, in step."""

    def __init__(
        self,
        since: float,
        late_seconds: float,
        help_text: Callable[[], str] = str,
        memories: Memories | None = None,
        past_step_seconds: float | None = None,
    ) -> None:
        """
        Args:
            since: epoch seconds from when on this Prometheus is watched: a process that started later counts from 0.
            late_seconds: how long after its scrape a page may become readable.
            memories: of rounds that are stored; their replicas go on from there.
            past_step_seconds: between moments of the past, where a replica without any sample was not there; None
                for the present, where it is one that does not answer.
        """
        self._since = since
        self._late = late_seconds
        self._help_text = help_text
        self._memories = memories or {}
        self._past_step = past_step_seconds
        self._watched: dict[ReplicaKey, _Watched] = {}
        self._replicas: dict[ReplicaKey, Replica] = {}
        self._is_first = True

    def feed(self, seen: Mapping[Address, Pages], fleet: Observed, moments: Iterable[float]) -> list[Round]:
        """Rounds of every replica of the fleet at each moment (ascending, epoch seconds), and before each restart."""
        owned: dict[ReplicaKey, list[tuple[Target, Address]]] = {}
        for address, target in fleet.where.items():
            owned.setdefault(target.key, []).append((target, address))
        wanted = list(moments)
        rounds = []
        for replica in fleet.replicas:
            addresses = owned.get(replica.key, [])
            ends = {end for _, address in addresses for end in self._ends(address, seen, wanted[-1])}
            watched = self._watch(replica)
            for at in sorted({*wanted, *(end for end in ends if end < wanted[-1])}):
                if at <= watched.at:
                    continue
                answers = {
                    target.name: self._answer(watched, target, address, seen, at) for target, address in addresses
                }
                if self._past_step is not None and all(
                    answer.scrape.reason == _NO_SAMPLE for answer in answers.values()
                ):
                    continue
                one = watched.accountant.feed(at, answers)
                watched.at = at
                rounds.append(_noted(one, fleet.notes.get(replica.key, frozenset())))
        self._is_first = False
        return rounds

    def _watch(self, replica: Replica) -> _Watched:
        """A replica that comes later was not there before: its first page counts where its process is new."""
        known = self._watched.get(replica.key)
        if known is not None and self._replicas[replica.key] == replica:
            return known
        memory = known.accountant.memory() if known is not None else self._memories.get(replica.key)
        absent_at = self._since if memory is None and not self._is_first else None
        accountant = ReplicaAccountant(replica, memory, interval_seconds=self._past_step, absent_at=absent_at)
        at = memory.get("at") if memory is not None else None
        began = float(at) if isinstance(at, int | float) else -math.inf
        found = self._watched[replica.key] = _Watched(accountant, began, known.pages if known is not None else {})
        self._replicas[replica.key] = replica
        return found

    def _answer(
        self, watched: _Watched, target: Target, address: Address, seen: Mapping[Address, Pages], at: float
    ) -> Answered:
        found = seen[address].last(at) if address in seen else None
        page = self._whole(found, watched.pages.get(target.name), seen.get(address), at)
        if page is not None:
            watched.pages[target.name] = page
        page = watched.pages.get(target.name)
        if page is None or at - page.at > self._longest_age(address):
            return Answered(Scrape(target, at, answered=False, reason=_NO_SAMPLE))
        if not page.is_up:
            return Answered(Scrape(target, at, answered=False, reason="Prometheus could not scrape it (up is 0)"))
        body = page.body(self._help_text)
        reading, reason = interpret(BY_KIND[target.kind], body)
        return Answered(Scrape(target, at, answered=True, reason=reason, body_bytes=len(body)), reading)

    def _ends(self, address: Address, seen: Mapping[Address, Pages], at: float) -> list[float]:
        """Moments of last pages: before a process ended, and of an address that has none that is present at `at`."""
        if address not in seen:
            return []
        pages = seen[address].pages
        is_gone = bool(pages) and at - pages[-1].at > self._longest_age(address)
        return [*seen[address].falls, *([pages[-1].at] if is_gone else [])]

    def _longest_age(self, address: Address) -> float:
        """Seconds for which a page stands for the present; on the grid of the past it is there at each moment."""
        if self._past_step is not None:
            return 0.99 * self._past_step
        return _LATEST * (address.interval_seconds or _UNKNOWN_INTERVAL_SECONDS) + self._late

    def _whole(self, found: Page | None, before: Page | None, pages: Pages | None, at: float) -> Page | None:
        """The page, or the one before it while not all of its series have arrived yet."""
        if found is None or before is None or found.at <= before.at or pages is None:
            return found
        if not found.is_up or len(found.lines) >= len(before.lines) or at - found.at > self._late:
            return found
        earlier = pages.last(found.at - _SHORTEST_SECONDS)
        return earlier if earlier is not None and earlier.at > before.at else None


def _noted(one: Round, notes: frozenset[Note]) -> Round:
    return replace(one, ledger=replace(one.ledger, notes=one.ledger.notes | notes)) if notes else one
