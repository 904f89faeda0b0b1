"""Whether L1 and L2 pay, in a sentence with its figures."""

from __future__ import annotations

from console.worth import worth_words
from tierdeck.ceiling import Range, Worth
from tierdeck.figure import Ratio


def test_a_verdict_has_both_figures() -> None:
    told = Worth(Range(Ratio(0.61), Ratio(0.95)), Ratio(0.8))
    assert worth_words(told) == (
        "L1 and L2 pay for this traffic: 61–95 % of the tokens are beginnings that prompts have in common "
        "(more than 40 % pays), at least 80 % of the prompts exceed 1,000 tokens."
    )
    assert worth_words(Worth(Range(Ratio(0.61), Ratio(0.95)), Ratio(0.1))).startswith("L1 and L2 hardly pay")


def test_what_is_not_known_has_its_reason() -> None:
    unknown = Ratio.unknown("not exported")
    told = Worth(Range(Ratio(0.61), unknown), unknown)
    assert worth_words(told) == (
        "Whether L1 and L2 pay for this traffic can't be told: at least 61 % of the tokens are beginnings that "
        "prompts have in common (more than 40 % pays), how long prompts are is not known (not exported)."
    )
    nothing = worth_words(Worth(Range.unknown("idle"), unknown))
    assert "how much prompts have in common is not known (idle)" in nothing
