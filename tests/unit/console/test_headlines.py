"""The five numbers: what stands below the hit ratio."""

from __future__ import annotations

from dataclasses import replace

from console.headlines import headlines
from tierdeck.account import Answer, ReplicaAccount, WarmingLimits
from tierdeck.ledger import TokenLedger
from tierdeck.summary import summarize

LEDGER = TokenLedger(
    0.0, 60.0, prompt_tokens=100_000.0, l0_hits=60_000.0, external_queries=40_000.0, external_hits=0.0,
    requests=100.0, engine_scrapes=4,
)  # fmt: skip


def below_the_hit_ratio(ledger: TokenLedger) -> str:
    whole = summarize(ReplicaAccount("a", ledger, Answer.ENGINE), WarmingLimits(0, 0))
    return headlines(whole, (0.0, 1.0))[0].below


def test_the_ceiling_stands_beside_the_hits_where_prompt_lengths_tell_it() -> None:
    # 100 prompts of 1,000 tokens: at least 98,400 in whole blocks of 16, at most 99,900 without each last token
    told = below_the_hit_ratio(
        replace(
            LEDGER, measured_prompts=100.0, measured_tokens=100_000.0, reachable_low=98_400.0, reachable_high=99_900.0
        )
    )
    assert told == "60 k tokens · ceiling 98–99.9 %"


def test_without_them_the_hits_stand_alone() -> None:
    assert below_the_hit_ratio(LEDGER) == "60 k tokens"
