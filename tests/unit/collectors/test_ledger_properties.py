"""Any fleet: the ledger equals the truth behind it, or says with its bounds and notes how far it may be off."""

from typing import Any

from hypothesis import HealthCheck, given, settings

from collectors.explain import explain
from tests.support.any_fleets import Fleet, Truth, fleets
from tests.support.expositions import codes, tokens
from tierdeck.account import WarmingLimits


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(fleets())
def test_the_ledger_is_the_truth_or_says_how_far_it_may_be_off(fleet: Fleet) -> None:
    told: Any = explain(fleet.snapshot, WarmingLimits(0, 0))
    for name, truth in fleet.truths.items():
        part, kind = told["replicas"][name], fleet.kinds[name]
        assert exact(part, truth)
        assert part["restarts"] == truth.restarts
        assert part["ttft_seconds"]["count"] == truth.first_tokens
        notes = codes(part)
        assert ("restarted" in notes) is bool(truth.restarts)
        assert ("scrape_gap" in notes) is (not all(kind.scraped) or (kind.cached and not all(kind.cache_scraped)))
        assert ("same_process" in notes) is (kind.paths == 2)
        assert ("renamed" in notes) is ("gpu_" in kind.spelling)
        assert within(part, "L1", truth.l1)
        assert within(part, "L2", truth.l2)
        if part["tiers"]["L1"]["tokens"] is None:
            assert "unsplit" in notes
        elif part["tiers"]["L1"]["tokens"] != truth.l1:
            assert "split_estimated" in notes
        assert not {"external_mismatch", "external_double_counted", "counters_disagree", "counter_reset"} & set(notes)
    whole = total(list(fleet.truths.values()))
    assert exact(told["fleet"], whole)
    assert within(told["fleet"], "L1", whole.l1)
    assert ("same_process" in codes(told["fleet"])) is (
        bool(fleet.copy) or any(kind.paths == 2 for kind in fleet.kinds.values())
    )


def exact(part: Any, truth: Truth) -> bool:
    """Prompt tokens, L0, L1 and L2 together, and miss; the tiers add up, and no ratio leaves its range."""
    found: Any = tokens(part)
    ratio = part["hit_ratio"]["by_token"]
    wanted = (truth.l0 + truth.l1 + truth.l2) / truth.prompt_tokens if truth.prompt_tokens else None
    return (
        part["prompt_tokens"] == truth.prompt_tokens == found["L0"] + found["L1+L2"] + found["miss"]
        and (found["L0"], found["L1+L2"], found["miss"]) == (truth.l0, truth.l1 + truth.l2, truth.miss)
        and (ratio is None if wanted is None else abs(ratio - wanted) < 1e-12)
    )


def within(part: Any, tier: str, tokens_of_tier: int) -> bool:
    return bool(part["tiers"][tier]["low"] <= tokens_of_tier <= part["tiers"][tier]["high"])


def total(truths: list[Truth]) -> Truth:
    names = ("prompt_tokens", "l0", "l1", "l2", "miss", "first_tokens", "restarts")
    return Truth(**{name: sum(getattr(truth, name) for truth in truths) for name in names})
