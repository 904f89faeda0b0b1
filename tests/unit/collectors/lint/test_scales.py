"""Factors of a hundred: found wherever they stand, and taken out with what the value is held against."""

import pytest

from tests.support.queries import judge

HITS, LOOKUPS = "sum(rate(vllm:prefix_cache_hits_total[5m]))", "sum(rate(vllm:prefix_cache_queries_total[5m]))"
RATIO = f"{HITS} / {LOOKUPS}"


def rules_and_right(text: str, unit: str = "", *, alert: bool = False) -> tuple[set[str], str | None]:
    """The codes of the rules that object, and the one correction."""
    found = judge(text, unit=unit, alert=alert)
    (right,) = {one.right for one in found}
    return {one.rule for one in found}, right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{HITS} / ({LOOKUPS} / 100)", RATIO),
        (f"{HITS} / ({LOOKUPS} * 0.01)", RATIO),
        (f"{HITS} / {LOOKUPS} / 0.01", RATIO),
        (f"{HITS} * 100 / {LOOKUPS}", RATIO),
        (f"{HITS} / ({LOOKUPS} / 100 > 5)", f"{HITS} / ({LOOKUPS} > 500)"),
        (f"100 * {RATIO} > 20", f"{RATIO} > 0.2"),
        (f"20 < 100 * {RATIO}", f"0.2 < {RATIO}"),
        (f"100 * {RATIO} > limit", f"{RATIO} > limit / 100"),
        (f"round(100 * {RATIO})", f"round({RATIO}, 0.01)"),
        (f"round(100 * {RATIO}, 0.5)", f"round({RATIO}, 0.005)"),
        (f"clamp_max(100 * {RATIO}, 100)", f"clamp_max({RATIO}, 1)"),
        (f"100 - 100 * {RATIO}", f"1 - {RATIO}"),
        (f"100 * {RATIO} or 100 * a / b", f"{RATIO} or a / b"),
        (f"100 * {RATIO} or vector(100)", f"{RATIO} or vector(1)"),
        (f"max_over_time((100 * {RATIO})[1h:1m])", f"max_over_time(({RATIO})[1h:1m])"),
        ("avg(100 * vllm:kv_cache_usage_perc)", "avg(vllm:kv_cache_usage_perc)"),
        (f"ceil(100 * {RATIO})", None),
        ("a / b * 100 + c / d * 100", "a / b + c / d"),
    ],
)
def test_a_hundred_too_many_goes_from_where_it_stands(text: str, right: str | None) -> None:
    assert rules_and_right(text, "percentunit") == ({"percent_unit"}, right)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"100 * {HITS} / ({LOOKUPS} / 100)", f"{HITS} / ({LOOKUPS} / 100)"),
        ("avg(vllm:kv_cache_usage_perc * 100) / 0.01", "avg(vllm:kv_cache_usage_perc * 100)"),
    ],
)
def test_two_hundreds_are_one_too_many(text: str, right: str) -> None:
    assert rules_and_right(text) == ({"percent_unit"}, right)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{RATIO} < 20 and {LOOKUPS} > 100", f"{RATIO} < 0.2 and {LOOKUPS} > 100"),
        (f"20 > {RATIO} and {LOOKUPS} > 100", f"0.2 > {RATIO} and {LOOKUPS} > 100"),
        ("avg_over_time(vllm:kv_cache_usage_perc[5m]) > 90", "avg_over_time(vllm:kv_cache_usage_perc[5m]) > 0.9"),
        (f"1 - {RATIO} > 90 and {LOOKUPS} > 100", f"1 - {RATIO} > 0.9 and {LOOKUPS} > 100"),
        (f"100 * {RATIO} / 100 < 20 and {LOOKUPS} > 100", f"100 * {RATIO} / 100 < 0.2 and {LOOKUPS} > 100"),
        (f"{RATIO} < 1.5 and {LOOKUPS} > 100", f"{RATIO} < 0.015 and {LOOKUPS} > 100"),
    ],
)
def test_a_fraction_held_against_per_cents_is_told(text: str, right: str) -> None:
    assert rules_and_right(text, alert=True) == ({"percent_unit"}, right)


SUMMED = f"sum(100 * rate(vllm:prefix_cache_hits_total[5m])) / {LOOKUPS}"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{SUMMED} < 0.3 and {LOOKUPS} > 100", f"{SUMMED} < 30 and {LOOKUPS} > 100"),
        (f"0.3 > {SUMMED} and {LOOKUPS} > 100", f"30 > {SUMMED} and {LOOKUPS} > 100"),
        (f"100 * {RATIO} < 0.3 and {LOOKUPS} > 100", f"100 * {RATIO} < 30 and {LOOKUPS} > 100"),
        ("100 * avg(vllm:kv_cache_usage_perc) > 0.9", "100 * avg(vllm:kv_cache_usage_perc) > 90"),
    ],
)
def test_per_cents_held_against_a_fraction_are_told(text: str, right: str) -> None:
    assert rules_and_right(text, alert=True) == ({"percent_unit"}, right)


@pytest.mark.parametrize(
    "text",
    [
        f"{SUMMED} < 30 and {LOOKUPS} > 100",
        f"100 * {RATIO} < 1 and {LOOKUPS} > 100",
        f"100 * {RATIO} < 0.01 and {LOOKUPS} > 100",
        f"{RATIO} > 1.05",
        f"{RATIO} >= 1.001",
        f"{RATIO} > 1",
        f"1.05 < {RATIO}",
        f"{RATIO} > 2",
    ],
)
def test_a_threshold_that_fits_or_looks_for_double_counts_is_no_fault(text: str) -> None:
    assert judge(text, alert=True) == []


def test_a_hundred_within_a_sum_is_one_like_any_other() -> None:
    assert rules_and_right(SUMMED, "percentunit") == ({"percent_unit"}, RATIO)
    guard = "sum(increase(vllm:prefix_cache_queries_total[5m])) > 1000"
    assert rules_and_right(f"{SUMMED} < 30", alert=True) == ({"no_traffic_guard"}, f"{SUMMED} < 30 and {guard}")


def test_a_figure_is_multiplied_where_nothing_scales_it() -> None:
    text = f"{HITS} * 100 / ({LOOKUPS} * 100)"
    assert rules_and_right(text, "percent") == ({"percent_unit"}, f"100 * ({text})")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{HITS} / ({LOOKUPS} / 100 + 1e-10)", f"{HITS} / ({LOOKUPS} / 100 > 0)"),
        (f"{HITS} / (0.01 * clamp_min({LOOKUPS}, 1))", f"{HITS} / (0.01 * {LOOKUPS} > 0)"),
        (f"{HITS} / (clamp_min({LOOKUPS}, 1) > 0)", f"{HITS} / ({LOOKUPS} > 0)"),
        (f"{HITS} / ({LOOKUPS} > 0 or vector(1))", f"{HITS} / ({LOOKUPS} > 0)"),
        (
            f"{HITS} / (({LOOKUPS} + 1) or (sum(rate(vllm_prefix_cache_queries_total[5m])) + 1))",
            f"{HITS} / (({LOOKUPS} or sum(rate(vllm_prefix_cache_queries_total[5m]))) > 0)",
        ),
    ],
)
def test_a_divisor_keeps_its_scale_where_its_floor_goes(text: str, right: str) -> None:
    assert rules_and_right(text) == ({"idle_as_zero"}, right)


@pytest.mark.parametrize("low", [f"0.2 > {RATIO}", f"1 - {RATIO} > 0.8", f"80 < 100 - 100 * {RATIO}"])
def test_an_alert_on_few_hits_wants_traffic_however_it_is_written(low: str) -> None:
    guard = "sum(increase(vllm:prefix_cache_queries_total[5m])) > 1000"
    assert rules_and_right(low, alert=True) == ({"no_traffic_guard"}, f"{low} and {guard}")


def test_an_alert_on_many_hits_wants_none() -> None:
    assert judge(f"1 - {RATIO} < 0.1", alert=True) == []
    assert judge(f"0.9 < {RATIO}", alert=True) == []


def test_a_second_ratio_is_no_condition_on_traffic() -> None:
    for other in (f"1 - {RATIO} > 0.5", f"max({RATIO}) > 0.5", f"0.5 < {RATIO}"):
        found = judge(f"{RATIO} < 0.3 and {other}", alert=True)
        assert "no_traffic_guard" in {one.rule for one in found}


def test_a_counter_held_against_a_number_on_the_left_is_told_too() -> None:
    text = "1000 < vllm:request_success_total"
    right = "1000 < increase(vllm:request_success_total[5m])"
    assert rules_and_right(text, alert=True) == ({"counter_without_rate"}, right)
