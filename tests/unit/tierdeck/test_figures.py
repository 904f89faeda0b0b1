"""Figures, ratios and units: unknown keeps its reason, and nothing leaves its range."""

import math

import pytest

from tierdeck.errors import UsageError
from tierdeck.figure import Bounded, Figure, Ratio
from tierdeck.units import format_count, format_ratio, format_seconds, format_size, parse_duration, parse_size


def test_an_unknown_figure_needs_a_reason_and_a_known_one_is_finite() -> None:
    with pytest.raises(ValueError, match="reason"):
        Figure(None)
    with pytest.raises(ValueError, match="finite"):
        Figure(math.nan)


def test_a_sum_with_an_unknown_part_is_unknown_for_its_reason() -> None:
    assert (Figure(1.0) + Figure.unknown("lost") + Figure(2.0)) == Figure.unknown("lost")
    assert (Bounded.exact(1.0) + Bounded.unknown("lost")).low.reason == "lost"


def test_a_ratio_above_one_is_never_shown() -> None:
    ratio = Ratio.of(Figure(125.0), Figure(100.0))
    assert (ratio.value, "contradict" in ratio.reason) == (None, True)


def test_a_ratio_without_traffic_says_so() -> None:
    assert "no prompt tokens" in Ratio.of(Figure(0.0), Figure(0.0)).reason


@pytest.mark.parametrize(
    ("text", "size"), [("40Gi", 40 * 2**30), ("1.5 TB", 1_500_000_000_000), ("512", 512), ("4GiB", 2**32)]
)
def test_sizes_are_read_as_kubernetes_writes_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "Gi", "-1Gi", "1Xi", "1e3"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15m", 900), ("90s", 90), ("1.5h", 5400), ("7d", 604800), ("250ms", 0.25), ("30", 30)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-5m", "5y", "m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration(text)


def test_people_read_three_digits_and_a_unit() -> None:
    assert [format_size(size) for size in (1, 2**20, 3 * 2**40 // 2)] == ["1 B", "1 MiB", "1.5 TiB"]
    assert [format_count(count) for count in (7, 1234, 48_200_000)] == ["7", "1.23 k", "48.2 M"]
    assert [format_seconds(seconds) for seconds in (0.212, 1.1, 75, 7200)] == ["212 ms", "1.1 s", "1.25 min", "2 h"]


def test_rounding_never_claims_nothing_or_everything() -> None:
    assert [format_ratio(ratio) for ratio in (0, 0.0004, 0.814, 0.9996, 1)] == [
        "0 %",
        "0.1 %",
        "81 %",
        "99.9 %",
        "100 %",
    ]
