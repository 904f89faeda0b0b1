"""Hypothesis strategies: generated fleets as pods that a Prometheus scrapes, which come, go and fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tests.support.any_fleets import FIRST_MOMENT, fleets
from tests.support.memory_prometheus import MemoryPrometheus
from tierdeck.fleet import Replica, ReplicaKey, SourceKind, Target
from tierdeck.histogram import Histogram
from tierdeck.ledger import COUNTS
from tierdeck.rounds import Round, SaltCounts, Scrape

INTERVAL_SECONDS = 60
LATE_SECONDS = 10.0
_PORTS = {"vllm.1": 8001, "vllm.2": 8002, "lmcache-mp": 8080}


@dataclass(frozen=True)
class Pod:
    """What each scrape of its targets gives.

    Attributes:
        number: of the pod: its name and address.
        pages: by target and number of the moment; None where the scrape fails, no entry where it is not scraped.
        delay_seconds: from a scrape to the moment after it, by target.
        late: numbers of moments whose scrapes are readable only after the moment: not a pod's first page, which would
            be its baseline, nor its last one, nor where two targets are one process, which would seem to part.
    """

    number: int
    pages: Mapping[str, Mapping[int, str | None]]
    delay_seconds: Mapping[str, float]
    late: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        return f"chat-6d4cf56db6-{'bcdfg'[self.number]}x2x4"

    def labels(self, target: str) -> dict[str, str]:
        return {
            "job": "ns/chat", "namespace": "ns", "pod": self.name, "container": target,
            "instance": f"10.0.0.{self.number}:{_PORTS[target]}",
        }  # fmt: skip

    def scraped_at(self, target: str, number: int) -> float:
        return moment(number) - self.delay_seconds[target]


@dataclass
class Counted:
    """What one replica's rounds add up to."""

    counts: dict[str, float] = field(default_factory=dict)
    restarts: int = 0
    resets: int = 0
    gaps: int = 0
    ttft: Histogram | None = None
    salts: dict[str, SaltCounts] = field(default_factory=dict)

    def add(self, one: Round) -> None:
        for name in COUNTS:
            value = getattr(one.ledger, name)
            if value:
                self.counts[name] = self.counts.get(name, 0.0) + value
        self.restarts += one.ledger.restarts
        self.resets += one.ledger.counter_resets
        self.gaps += one.ledger.engine_gaps + one.ledger.cache_gaps
        if one.ttft is not None and any(one.ttft.counts):
            self.ttft = one.ttft if self.ttft is None else self.ttft + one.ttft
        for salt, counts in one.salts.items():
            self.salts[salt] = self.salts.get(salt, SaltCounts()) + counts

    @property
    def told(self) -> object:
        """Everything that is counted; a gap is not."""
        salts = {salt: counts for salt, counts in self.salts.items() if counts != SaltCounts()}
        counts = {name: value for name, value in self.counts.items() if value}
        return counts, self.restarts, self.resets, self.ttft, salts


def moment(number: int) -> float:
    return FIRST_MOMENT + INTERVAL_SECONDS * number


def added_up(rounds: Iterator[Round] | list[Round]) -> dict[str, Counted]:
    """By replica."""
    found: dict[str, Counted] = {}
    for one in rounds:
        found.setdefault(one.key.replica, Counted()).add(one)
    return found


@st.composite
def pods(draw: st.DrawFn, most_steps: int = 4, *, may_be_late: bool = False) -> tuple[int, list[Pod]]:
    """The number of the last moment, and pods; each is there over a stretch of the moments."""
    fleet = draw(fleets(most_steps))
    last = len(fleet.snapshot.moments) - 1
    found = []
    for number, (name, kind) in enumerate(fleet.kinds.items()):
        moments = [fleet.snapshot.bodies[name].get(60 * step, {}) for step in range(last + 1)]
        targets = sorted({target for bodies in moments for target in bodies})
        # a cache server is nobody's before its engine was seen: then the first scrapes work
        whole = [step for step in range(last + 1) if len(moments[step]) == len(targets) or "lmcache-mp" not in targets]
        born = draw(st.sampled_from(whole))
        gone = draw(st.integers(born, last))
        embedded, salted = draw(st.booleans()), draw(st.booleans())
        pages: dict[str, dict[int, str | None]] = {}
        for target in targets:
            change = _salted if target == "lmcache-mp" and salted else _embedding if embedded else str
            bodies = {step: moments[step].get(target) for step in range(born, gone + 1)}
            pages[target] = {step: None if body is None else change(body) for step, body in bodies.items()}
        delays = {target: draw(st.sampled_from([0.0, 0.125, 5.0, 9.5])) for target in targets}
        read = [step for bodies in pages.values() for step, body in bodies.items() if body]
        can_be_late = may_be_late and kind.paths == 1 and min(read, default=gone) + 1 < gone
        late = frozenset(draw(st.sets(st.integers(min(read) + 1, gone - 1))) if can_be_late else ())
        found.append(Pod(number, pages, delays, late))
    return last, found


def _embedding(page: str) -> str:
    """With LMCache inside the engine, as its workers export it: it found half of what was looked up."""
    looked_up = re.search(r"queries\S*\{\S* (\d+)", page)
    if looked_up is None:
        return page
    tokens = 2 * (int(looked_up[1]) // 2)
    return (
        f'{page}lmcache:num_lookup_tokens_total{{worker_id="0"}} {tokens}\n'
        f'lmcache:num_lookup_hits_total{{worker_id="0"}} {tokens // 2}\n'
    )


def _salted(page: str) -> str:
    """Every count once more under another tenant's salt."""
    return page + "".join(
        line.replace('cache_salt=""', 'cache_salt="team"') for line in page.splitlines(True) if "cache_salt" in line
    )


def scrape(server: MemoryPrometheus, pod: Pod, number: int) -> None:
    """A pod's scrapes of one moment; after the last ones its targets are gone."""
    for target, pages in pod.pages.items():
        if number in pages:
            server.scrape(pod.labels(target), pod.scraped_at(target, number), pages[number])
        elif number - 1 in pages:
            server.remove(pod.labels(target), moment(number) - 15)


def scraped_directly(last: int, pods: list[Pod]) -> dict[str, Counted]:
    """By accountants that are fed every page at its moment, and know from when on a pod was there."""
    rounds = []
    for pod in pods:
        key = ReplicaKey("default", "chat", pod.name)
        targets = tuple(Target(key, name, "http://x") for name in pod.pages)
        accountant = ReplicaAccountant(Replica(key, targets), watched_since=FIRST_MOMENT)
        numbers = sorted({number for pages in pod.pages.values() for number in pages})
        for number in numbers:
            if number == numbers[0] > 0:
                accountant.feed(moment(number - 1), {})
            answers = {target.name: _answer(target, pod.pages[target.name][number], number) for target in targets}
            if number <= last:
                rounds.append(accountant.feed(moment(number), answers))
    return added_up(rounds)


def _answer(target: Target, page: str | None, number: int) -> Answered:
    if page is None:
        return Answered(Scrape(target, moment(number), answered=False, reason="it failed"))
    reading, reason = interpret(BY_KIND[SourceKind(target.kind)], page)
    return Answered(Scrape(target, moment(number), answered=True, reason=reason), reading)
