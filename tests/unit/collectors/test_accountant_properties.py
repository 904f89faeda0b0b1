"""The accountant against a generated truth: random traffic, restarts, failed scrapes, engines, memory."""

import json
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.round_parts import Answered
from collectors.sources import BY_KIND
from tests.support.expositions import vllm
from tierdeck.fleet import Replica, ReplicaKey, SourceKind, Target
from tierdeck.ledger import TokenLedger, merge
from tierdeck.rounds import Scrape
from tierdeck.split import split

KEY = ReplicaKey("c", "e", "r")
TARGET = Target(KEY, "vllm", "http://x")
REPLICA = Replica(KEY, (TARGET,))


@dataclass(frozen=True)
class Step:
    """Traffic of each engine since the last step as (lookups, L0 hits, external hits), and how the scrape ends."""

    traffic: tuple[tuple[int, int, int], ...]
    restart: bool
    scraped: bool
    kill_collector: bool


def traffic() -> st.SearchStrategy[tuple[int, int, int]]:
    return st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000)).map(
        lambda parts: (sum(parts), parts[0], parts[1])
    )


def steps(engines: int) -> st.SearchStrategy[list[Step]]:
    step = st.builds(Step, st.tuples(*[traffic()] * engines), st.booleans(), st.booleans(), st.booleans())
    return st.lists(step, min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3).flatmap(steps))
def test_nothing_is_counted_twice_and_only_what_no_scrape_could_see_is_lost(sequence: list[Step]) -> None:
    engines = len(sequence[0].traffic)
    counters = [[0, 0, 0] for _ in range(engines)]
    seen = [0, 0, 0]  # truth: counted by the end of the last scrape
    pending = [0, 0, 0]  # traffic that no scrape has seen yet
    start, restarts, restarted = 100.0, 0, False
    accountant = ReplicaAccountant(REPLICA)
    rows: list[TokenLedger] = []

    def scrape(at: float) -> None:
        text = "".join(
            vllm(q, h, q - h, x, start=start if engine == 0 else None, engine=str(engine))
            for engine, (q, h, x) in enumerate(counters)
        )
        reading, reason = interpret(BY_KIND[SourceKind.VLLM], text)
        rows.append(
            accountant.feed(at, {"vllm": Answered(Scrape(TARGET, at, answered=True, reason=reason), reading)}).ledger
        )

    scrape(0.0)
    for number, step in enumerate(sequence, start=1):
        if step.restart:
            counters = [[0, 0, 0] for _ in range(engines)]
            pending = [0, 0, 0]  # what the old process did after its last scrape is lost
            start, restarted = start + 1, True
        for engine, counts in enumerate(step.traffic):
            for index, count in enumerate(counts):
                counters[engine][index] += count
                pending[index] += count
        if step.kill_collector:
            accountant = ReplicaAccountant(REPLICA, json.loads(json.dumps(accountant.memory())))
        if step.scraped:
            scrape(float(number))
            seen = [a + b for a, b in zip(seen, pending, strict=True)]
            pending = [0, 0, 0]
            restarts, restarted = restarts + restarted, False
        else:
            missing = {"vllm": Answered(Scrape(TARGET, float(number), answered=False, reason="refused"))}
            rows.append(accountant.feed(float(number), missing).ledger)
    whole = merge(rows)
    if any(step.scraped for step in sequence):
        tiers = split(whole)
        assert whole.restarts == restarts
        assert (tiers.prompt_tokens.value, tiers.l0.value, tiers.lower.value) == tuple(seen)
        assert tiers.miss.value == seen[0] - seen[1] - seen[2]
    else:
        assert whole.prompt_tokens is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), min_size=3, max_size=6), st.randoms())
def test_merging_windows_is_associative_and_knows_no_order(parts: list[tuple[int, int, bool]], random: object) -> None:
    windows = [
        TokenLedger(
            float(number),
            float(number + 1),
            prompt_tokens=None if queries == 0 else float(queries),
            l0_hits=float(hits),
            requests=float(hits),
            restarts=int(restart),
            prompt_tokens_since_restart=float(queries) if restart and queries else None,
            requests_since_restart=float(hits) if restart else None,
            cache_at_start=bool(queries % 2),
            cache_at_end=bool(hits % 2),
        )
        for number, (queries, hits, restart) in enumerate(parts)
    ]
    whole = merge(windows)
    assert merge(windows[::-1]) == whole
    for cut in range(1, len(windows)):
        assert merge(windows[:cut]).then(merge(windows[cut:])) == whole
