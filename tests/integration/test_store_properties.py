"""What the store merges in SQL is what the vocabulary merges in Python, rolled up or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from db import Store
from tests.support.any_rounds import histories
from tests.support.rounds import endpoint
from tierdeck.account import Answer, Gauges, ReplicaAccount, WarmingLimits
from tierdeck.fleet import ReplicaKey
from tierdeck.histogram import Histogram
from tierdeck.ledger import merge
from tierdeck.rounds import Round

FOREVER = 1e9
NUMBERS = count(1)
APART_SECONDS = 30 * 3600
LIMITS = WarmingLimits()
# one store serves all examples, each in a cluster of its own
EXAMPLES = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def merged(rounds: Sequence[Round]) -> ReplicaAccount:
    """The rounds of one replica, in order, merged by the vocabulary."""
    gauges, ttft = Gauges(), None
    for one in rounds:
        gauges = gauges.then(one.gauges, engine_read=one.answer is Answer.ENGINE)
    found = [one.ttft for one in rounds if one.ttft is not None]
    ttft = reduce(Histogram.__add__, found) if found else None
    return ReplicaAccount("a", merge([one.ledger for one in rounds]), rounds[-1].answer, ttft, gauges)


def stored(store: Store, cluster: str, start_at: float, end_at: float) -> ReplicaAccount:
    (found,) = store.accounts(start_at, end_at, cluster, stale_after_seconds=FOREVER)
    account = found.replicas[0]
    # what was open at the edges, and whether vLLM's counts reach them, is more than what merging tells
    ledger = replace(account.ledger, open_at_start=None, open_at_end=None, engine_covers=True)
    return replace(account, ledger=ledger)


def later(one: Round, who: ReplicaKey, seconds: float) -> Round:
    """The same round of another replica at another time."""
    ledger = replace(one.ledger, started_at=one.ledger.started_at + seconds, ended_at=one.ledger.ended_at + seconds)
    return replace(one, key=who, at=one.at + seconds, ledger=ledger)


def appended(store: Store, history: Sequence[Round]) -> tuple[str, list[Round]]:
    """The history in a cluster and a time of its own; the cluster and its rounds."""
    number = next(NUMBERS)
    who = ReplicaKey(f"c{number}", "chat", "a")
    rounds = [later(one, who, number * APART_SECONDS) for one in history]
    store.declare(who.cluster, [endpoint(replicas=("a",), cluster=who.cluster)], [], "test", "test")
    store.append(rounds)
    return who.cluster, rounds


@EXAMPLES
@given(history=histories(), cut=st.integers(0, 7), batches=st.booleans())
def test_accounts_are_the_merged_rounds(store: Store, history: list[Round], cut: int, batches: bool) -> None:
    cluster, rounds = appended(store, history)
    if batches:
        for one in rounds:
            store.append([one])
    window = rounds[min(cut, len(rounds) - 1) :]
    start_at = window[0].ledger.started_at
    assert stored(store, cluster, start_at, rounds[-1].at) == merged(window)


@EXAMPLES
@given(history=histories(), cut=st.integers(0, 7), end=st.integers(0, 7), late=st.floats(0, 20000))
def test_rolled_up_accounts_are_the_merged_rounds(
    store: Store, history: list[Round], cut: int, end: int, late: float
) -> None:
    cluster, rounds = appended(store, history)
    store.rollup(rounds[0].at + late, LIMITS)
    window = rounds[min(cut, len(rounds) - 1) :][: end + 1]
    assert stored(store, cluster, window[0].ledger.started_at, window[-1].at) == merged(window)
