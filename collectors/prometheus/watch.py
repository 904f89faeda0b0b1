"""A fleet's accountants: pages of a Prometheus in, rounds out, as if the targets had been scraped."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
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
_KEPT_SECONDS = 3600.0
"""What is known of a replica is kept so long after it has left the fleet."""
_NO_SAMPLE = "Prometheus has no present sample of it"

Memories = Mapping[ReplicaKey, Mapping[str, object]]
Own = Mapping[str, tuple[Target, Address]]
"""A replica's targets by name."""


@dataclass(slots=True)
class _Watched:
    """One replica: its accountant, and the last page of each of its targets.

    Attributes:
        read: the last pages that hold something.
        at: of its last round; before the first one, the last moment at which it was not there.
    """

    replica: Replica
    accountant: ReplicaAccountant
    at: float
    is_met: bool = False
    pages: dict[str, Page] = field(default_factory=dict)
    read: dict[str, Page] = field(default_factory=dict)


class Watch:
    """Accountants of all replicas, in step."""

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
        self._memories = dict(memories or {})
        self._past_step = past_step_seconds
        self._at = since if memories else -math.inf
        self._away_until = -math.inf
        self._watched: dict[ReplicaKey, _Watched] = {}
        self._fed: dict[Address, tuple[ReplicaKey, str]] = {}

    def server_was_away(self, until: float) -> None:
        """It did not answer up to now, and may not have scraped: what is silent until its next scrape is not down."""
        self._away_until = until

    def feed(self, seen: Mapping[Address, Pages], fleet: Observed, moments: Iterable[float]) -> list[Round]:
        """Rounds of every replica of the fleet at each moment (ascending, epoch seconds), and before each restart."""
        owned: dict[ReplicaKey, dict[str, tuple[Target, Address]]] = {}
        for address, target in fleet.where.items():
            owned.setdefault(target.key, {})[target.name] = (target, address)
        moved = self._moved(fleet)
        wanted = list(moments)
        rounds = []
        for replica in fleet.replicas:
            own = owned.get(replica.key, {})
            watched = self._watch(replica, own, moved)
            for look, at in self._looks(watched, own, seen, wanted):
                answers = {
                    name: self._answer(watched, target, address, seen.get(address), look, at)
                    for name, (target, address) in own.items()
                }
                is_silent = all(answer.scrape.reason == _NO_SAMPLE for answer in answers.values())
                if is_silent and watched.is_met and self._is_excused(own, at):
                    continue
                if is_silent and not (watched.is_met and self._past_step is None):
                    watched.at = at
                    continue
                if not watched.is_met and watched.at > -math.inf:
                    watched.accountant.feed(watched.at, {})  # then it was not there yet
                one = watched.accountant.feed(at, answers)
                watched.at, watched.is_met = at, True
                rounds.append(_noted(one, fleet.notes.get(replica.key, frozenset())))
        self._at = wanted[-1]
        self._fed = {address: (target.key, target.name) for address, target in fleet.where.items()}
        self._forget()
        return rounds

    def _forget(self) -> None:
        present = {key for key, _ in self._fed.values()}
        for key in [key for key, one in self._watched.items() if self._at - one.at > _KEPT_SECONDS]:
            if key not in present:
                del self._watched[key]

    def _moved(self, fleet: Observed) -> dict[Address, Page]:
        """The last pages of addresses that had another place in the fleet so far: what they tell is counted."""
        found = {}
        for address, target in fleet.where.items():
            key, name = self._fed.get(address, (target.key, target.name))
            if (key, name) != (target.key, target.name) and name in self._watched[key].read:
                found[address] = self._watched[key].read[name]
        return found

    def _watch(self, replica: Replica, own: Own, moved: Mapping[Address, Page]) -> _Watched:
        """A replica that comes later was not there before: its first page counts where its process is new."""
        known = self._watched.get(replica.key)
        counted = {name: moved[address] for name, (_, address) in own.items() if address in moved}
        if known is not None and known.replica == replica and not counted:
            return known
        stored = self._memories.pop(replica.key, None)
        memory = known.accountant.memory() if known is not None else stored
        at = memory.get("at") if memory is not None else None
        if counted:
            accountant = ReplicaAccountant(replica, None, self._since, self._past_step)
            accountant.feed(self._at, {name: self._read(own[name][0], counted[name], self._at) for name in counted})
            found = _Watched(replica, accountant, self._at, is_met=True, pages=counted, read=dict(counted))
        elif isinstance(at, int | float):
            accountant = ReplicaAccountant(replica, memory, interval_seconds=self._past_step)
            found = _Watched(replica, accountant, float(at), is_met=True)
            if known is not None:
                found.pages, found.read = known.pages, known.read
        else:
            accountant = ReplicaAccountant(replica, None, self._since, self._past_step)
            found = _Watched(replica, accountant, self._at)
        self._watched[replica.key] = found
        return found

    def _looks(
        self, watched: _Watched, own: Own, seen: Mapping[Address, Pages], wanted: list[float]
    ) -> Iterator[tuple[float, float]]:
        """Up to when pages are read, and the instant of that round: each moment, and the last page of each process.

        A last page that became readable only after the round in which it belongs has one just after that.
        """
        began = watched.at if watched.at > -math.inf else wanted[0]
        moments = [at for at in wanted if at > watched.at]
        spans = []
        for name, (_, address) in own.items():
            before, pages = watched.pages.get(name), seen.get(address, Pages())
            read_to = began if before is None else before.at
            last = [page.at for page in pages.pages[-1:] if page.is_up]
            ends = [end for end in {*pages.falls, *last} if read_to < end < wanted[-1]]
            spans += [(end, min(pages.after(end), end + self._longest_age(address))) for end in ends]
        for look in sorted({*moments, *_hits(spans, moments)}):
            yield look, look if look > watched.at else watched.at + _SHORTEST_SECONDS

    def _answer(
        self, watched: _Watched, target: Target, address: Address, pages: Pages | None, look: float, at: float
    ) -> Answered:
        page = self._newest(pages, watched.pages.get(target.name), look, at)
        if page is not None:
            watched.pages[target.name] = page
            if page.is_up:
                watched.read[target.name] = page
        page = watched.pages.get(target.name)
        if page is None or at - page.at > self._longest_age(address):
            return Answered(Scrape(target, at, answered=False, reason=_NO_SAMPLE))
        return self._read(target, page, at)

    def _read(self, target: Target, page: Page, at: float) -> Answered:
        if not page.is_up:
            return Answered(Scrape(target, at, answered=False, reason="Prometheus could not scrape it (up is 0)"))
        series = page.series(self._help_text)
        reading, reason = interpret(BY_KIND[target.kind], series, page.lines)
        size = len(series) + page.values_bytes
        return Answered(Scrape(target, at, answered=True, reason=reason, body_bytes=size), reading)

    def _longest_age(self, address: Address) -> float:
        """Seconds for which a page stands for the present; on the grid of the past it is there at each moment."""
        if self._past_step is not None:
            return 0.99 * self._past_step
        return _LATEST * (address.interval_seconds or _UNKNOWN_INTERVAL_SECONDS) + self._late

    def _is_excused(self, own: Own, at: float) -> bool:
        longest = max((self._longest_age(address) for _, address in own.values()), default=0.0)
        return at <= self._away_until + longest

    def _newest(self, pages: Pages | None, before: Page | None, look: float, at: float) -> Page | None:
        """The page of that moment, or the one before it while not all of its series have arrived; None for no other."""
        found = pages.last(look) if pages is not None else None
        if found is None or pages is None or before is None or found.at == before.at:
            return found
        if found.at < before.at:
            return None
        may_grow = found is pages.pages[-1] and at - found.at < self._late
        if not (may_grow and found.is_up and len(found.lines) < len(before.lines)):
            return found
        earlier = pages.last(found.at - _SHORTEST_SECONDS)
        return earlier if earlier is not None and earlier.at > before.at else None


def _hits(spans: Iterable[tuple[float, float]], moments: list[float]) -> Iterator[float]:
    """Few instants, so that one of them or of the moments lies in each span (its end left out)."""
    hit, until = -math.inf, -math.inf
    for start, end in sorted(spans):
        number = bisect_left(moments, start)
        if number < len(moments) and moments[number] < end:
            continue
        if start >= until and hit > -math.inf:
            yield hit
        hit, until = start, end if start >= until else min(until, end)
    if hit > -math.inf:
        yield hit


def _noted(one: Round, notes: frozenset[Note]) -> Round:
    return replace(one, ledger=replace(one.ledger, notes=one.ledger.notes | notes)) if notes else one
