"""The sum over endpoints, and which tokens count."""

from __future__ import annotations

from console.totals import summarize_endpoint, total
from db import EndpointAccounts
from tierdeck.account import Answer, Gauges, ReplicaAccount, WarmingLimits
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger

LIMITS = WarmingLimits()


def replica(
    name: str, prompt: float, *, external: float | None = 0.0, answer: Answer = Answer.ENGINE
) -> ReplicaAccount:
    ledger = TokenLedger(
        0.0, 60.0, prompt_tokens=prompt, l0_hits=prompt / 2, external_queries=external, external_hits=external,
        requests=10.0, engine_scrapes=4, unattributed_tokens=prompt if external is None else None,
    )  # fmt: skip
    return ReplicaAccount(name, ledger, answer, Histogram((1.0,), (9.0, 1.0)), Gauges(running=2.0, waiting=0.0))


def endpoint(name: str, *replicas: ReplicaAccount, departed: list[ReplicaAccount] | None = None) -> EndpointAccounts:
    return EndpointAccounts("c", name, list(replicas), None, (), 60.0, departed or [])


def test_a_replica_that_is_gone_counts_with_its_tokens_not_with_its_gauges() -> None:
    found = summarize_endpoint(endpoint("e", replica("a", 100), departed=[replica("b", 50)]), LIMITS)
    assert found.whole.tiers.prompt_tokens.value == 150
    assert found.whole.running.value == 2
    assert found.readable == 1
    assert len(found.pieces) == 2


def test_the_total_leaves_out_what_is_not_readable() -> None:
    parts = [
        summarize_endpoint(endpoint("e", replica("a", 100)), LIMITS),
        summarize_endpoint(endpoint("f", replica("b", 300, answer=Answer.NOTHING)), LIMITS),
    ]
    whole = total(parts)
    assert whole is not None
    assert whole.tiers.prompt_tokens.value == 100
    assert whole.tiers.by_token.value == 0.5
    assert whole.ttft is not None
    assert whole.ttft.count == 10


def test_a_figure_that_one_cannot_tell_names_that_endpoint() -> None:
    parts = [
        summarize_endpoint(endpoint("e", replica("a", 100)), LIMITS),
        summarize_endpoint(endpoint("dark", replica("b", 100, external=None)), LIMITS),
    ]
    whole = total(parts)
    assert whole is not None
    assert whole.tiers.by_token.value is None
    assert whole.tiers.by_token.reason.startswith("dark: external prefix cache hits are not exported")
    assert whole.tiers.prompt_tokens.value == 200


def test_nothing_readable_has_no_total() -> None:
    assert total([summarize_endpoint(endpoint("e", replica("a", 1, answer=Answer.NOTHING)), LIMITS)]) is None
    assert total([]) is None
