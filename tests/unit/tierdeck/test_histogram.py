"""Histograms: quantiles worked by hand, and merging as algebra."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierdeck.histogram import Histogram


def test_quantiles_are_interpolated_with_their_bounds() -> None:
    # 10 in (1, 2]: p50 = 1 + 1 * 5 / 10; the bucket's bounds are the error
    histogram = Histogram((1.0, 2.0), (0, 10, 0))
    quantile = histogram.quantile(0.5)
    assert (quantile.value, quantile.low, quantile.high) == (1.5, 1.0, 2.0)


def test_below_the_first_bound_the_lower_bound_is_zero() -> None:
    quantile = Histogram((0.1,), (4, 0)).quantile(0.5)
    assert (quantile.value, quantile.low, quantile.high) == (0.05, 0.0, 0.1)


def test_in_the_last_bucket_only_a_lower_bound_is_known() -> None:
    quantile = Histogram((1.0, 60.0), (0, 0, 3)).quantile(0.99)
    assert (quantile.value, quantile.at_least) == (None, 60.0)


def test_without_observations_there_is_a_reason() -> None:
    assert Histogram((1.0,), (0, 0)).quantile(0.5).reason == "no observations in the window"


def test_a_cumulative_count_that_falls_is_no_negative_observation() -> None:
    assert Histogram.from_cumulative((1.0, 2.0), (5, 3, 6), 0.0).counts == (5, 0, 1)


@pytest.mark.parametrize(("bounds", "counts"), [((1.0,), (1,)), ((2.0, 1.0), (0, 0, 0)), ((1.0,), (-1, 0))])
def test_nonsense_is_refused(bounds: tuple[float, ...], counts: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"bound|count"):
        Histogram(bounds, counts)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    bounds = tuple(sorted(draw(st.sets(st.sampled_from([0.1, 0.5, 1.0, 2.5, 5.0]), min_size=1))))
    counts = draw(st.lists(st.integers(0, 20), min_size=len(bounds) + 1, max_size=len(bounds) + 1))
    return Histogram(bounds, tuple(map(float, counts)))


@given(histograms(), histograms(), histograms())
def test_merging_is_associative_and_commutative_and_loses_no_observation(
    a: Histogram, b: Histogram, c: Histogram
) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert (a + b).count == a.count + b.count
    assert (a + b).layouts_differ == (a.bounds != b.bounds)
