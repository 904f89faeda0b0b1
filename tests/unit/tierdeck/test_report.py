"""The document of a window in which a replica left."""

from __future__ import annotations

from typing import Any

from tierdeck.account import Answer, Gauges, ReplicaAccount, WarmingLimits
from tierdeck.explanation import explanation
from tierdeck.ledger import TokenLedger
from tierdeck.report import Beside, fleet_document


def account(name: str, tokens: float) -> ReplicaAccount:
    ledger = TokenLedger(
        0.0, 60.0, prompt_tokens=tokens, l0_hits=tokens / 2, external_queries=tokens / 2, external_hits=0.0,
        requests=20.0, engine_scrapes=4,
    )  # fmt: skip
    return ReplicaAccount(name, ledger, Answer.ENGINE, None, Gauges(running=1.0))


def test_tokens_of_a_replica_that_left_count_and_its_gauges_do_not() -> None:
    beside = Beside(departed=[account("b", 600.0)])
    told: Any = fleet_document(60.0, [account("a", 1000.0)], WarmingLimits(0, 0), beside)
    assert told["fleet"]["prompt_tokens"] == 1600
    assert told["fleet"]["tiers"]["L0"]["tokens"] == 800
    assert told["fleet"]["running"] == 1
    assert told["fleet"]["departed"] == ["b"]
    assert list(told["replicas"]) == ["a"]
    assert "left         b: their tokens are in the sum" in explanation(told)
