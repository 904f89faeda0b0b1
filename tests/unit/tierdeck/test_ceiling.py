"""What could have hit at most, and whether the design pays: worked by hand, and against any prompts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierdeck.ceiling import Ceiling, Range, Verdict, Worth, ceiling, long_prompts, reachable
from tierdeck.figure import Ratio
from tierdeck.histogram import Histogram
from tierdeck.ledger import TokenLedger

BOUNDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)


def lengths(prompts: list[int]) -> Histogram:
    counts = [0.0] * (len(BOUNDS) + 1)
    for tokens in prompts:
        counts[sum(tokens > bound for bound in BOUNDS)] += 1
    return Histogram(BOUNDS, tuple(counts), float(sum(prompts)))


def test_prompts_below_one_block_can_t_hit() -> None:
    # (200, 500] with blocks of 784: floor(499 / 784) = 0
    assert reachable(lengths([240] * 10), 784) == (0, 0)


def test_whole_blocks_without_the_last_token_lie_within_the_bounds() -> None:
    # 8 prompts of 552, blocks of 32: 4416 - 8 * 32 = 4160 from below (8 * floor(500 / 32) * 32 = 3840 is less);
    # 4416 - 8 = 4408 from above (8 * floor(999 / 32) * 32 = 7936 is more). The truth: 8 * 17 * 32 = 4352
    assert reachable(lengths([552] * 8), 32) == (4160, 4408)


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=40), st.sampled_from([1, 16, 32, 784, 1024]))
def test_the_truth_lies_within_the_bounds_for_any_prompts(prompts: list[int], block: int) -> None:
    low, high = reachable(lengths(prompts), block)
    assert low <= sum((tokens - 1) // block * block for tokens in prompts) <= high


def test_only_prompts_that_are_surely_long_count_as_long() -> None:
    assert long_prompts(lengths([999, 1000, 1001, 7000])) == 2
    # without a bound at 1000, those in (500, +Inf] may be shorter
    assert long_prompts(Histogram((500.0,), (1.0, 3.0))) == 0


def ledger(**counts: float | bool | None) -> TokenLedger:
    told = {"measured_prompts": 8.0, "measured_tokens": 4416.0, "reachable_low": 4160.0, "reachable_high": 4408.0}
    return TokenLedger(0.0, 60.0, **{**told, **counts})  # type: ignore[arg-type]


def test_with_a_cache_only_the_last_tokens_are_out_of_reach() -> None:
    found = ceiling(ledger(reachable_high=4352.0), has_cache=True)
    assert found.l0.high.value == 4352 / 4416
    assert (found.hit_ratio.low.value, found.hit_ratio.high.value) == (4160 / 4416, 4408 / 4416)


def test_what_lmcache_looked_up_is_all_it_could_find() -> None:
    # 8 * 512 = 4096 in whole chunks, less 8 last tokens: 4088
    cache = {"cache_at_start": True, "cache_at_end": True, "prompt_tokens": 4416.0, "requests": 8.0}
    found = ceiling(ledger(lookup_tokens=4096.0, **cache), has_cache=True).lower
    assert (found.low.value, found.high.value) == (4088 / 4416, 4096 / 4416)
    assert ceiling(ledger(lookup_tokens=5000.0, **cache), has_cache=True).lower.high.value is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"measured_prompts": None}, "are not exported"),
        ({"measured_prompts": 0.0}, "no prompt finished"),
        ({"reachable_low": None}, "block size is not exported"),
    ],
)
def test_an_unknown_ceiling_has_its_reason(changed: dict[str, float | None], reason: str) -> None:
    assert reason in ceiling(ledger(**changed), has_cache=False).l0.high.reason


@pytest.mark.parametrize(
    ("low", "high", "long", "verdict"),
    [
        (0.41, 0.99, 0.5, Verdict.YES),
        (0.40, 0.99, 0.5, Verdict.CANNOT_TELL),
        (0.90, 0.99, 0.49, Verdict.NO),
        (0.10, 0.40, 0.9, Verdict.NO),
        (0.90, 0.99, None, Verdict.CANNOT_TELL),
        (None, None, 0.9, Verdict.CANNOT_TELL),
    ],
)
def test_the_design_pays_where_prompts_are_long_and_share_much(
    low: float | None, high: float | None, long: float | None, verdict: Verdict
) -> None:
    ratios = [Ratio.unknown("not told") if value is None else Ratio(value) for value in (low, high, long)]
    assert Worth(Range(ratios[0], ratios[1]), ratios[2]).verdict is verdict


def test_a_ceiling_may_be_unknown_altogether() -> None:
    assert Ceiling.unknown("down").lower.low.reason == "down"
