"""Only complete buckets are drawn; trends keep their gaps."""

from __future__ import annotations

import math

import pandas as pd

from console.trends import bucket_seconds, complete, fleet_tokens, rates, shares, trend


def series(starts: list[float], **columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"at": pd.to_datetime(starts, unit="s", utc=True), **columns})


def test_buckets_that_the_start_cuts_or_that_still_fill_are_left_out() -> None:
    # window from 100: [90, 105] is cut; newest round at 148: [135, 150] still fills
    found = complete(series([90, 105, 120, 135]), 15, 100, 148)
    assert [at.timestamp() for at in found["at"]] == [105, 120]


def test_a_wide_bucket_that_still_fills_counts_by_the_time_that_has_passed() -> None:
    found = complete(series([0, 3600]), 3600, 100, 3600 + 2700)
    assert found["covered_seconds"].tolist() == [3600, 2700]
    assert len(complete(series([0, 3600]), 3600, 100, 3600 + 900)) == 1


def test_raw_buckets_tell_their_width_by_their_distance() -> None:
    assert bucket_seconds(series([0, 15, 45]), 0) == 15
    assert bucket_seconds(series([0, 15]), 60) == 60
    assert bucket_seconds(series([]), 0) == 15


def tokens(prompt: float) -> pd.DataFrame:
    names = ("L1", "L2", "L1+L2", "transfer", "unknown")
    frame = series([0], prompt_tokens=[prompt], covered_seconds=[60.0], L0=[30.0], miss=[prompt - 30.0])
    return frame.assign(**dict.fromkeys(names, 0.0))


def test_shares_and_rates() -> None:
    assert shares(tokens(120.0))[["L0", "miss"]].iloc[0].tolist() == [0.25, 0.75]
    assert rates(tokens(120.0))[["L0", "miss"]].iloc[0].tolist() == [0.5, 1.5]
    assert math.isnan(shares(tokens(0.0))["L0"].iloc[0])


def test_tokens_of_a_longer_time_than_their_bucket_are_divided_by_it() -> None:
    # one: 400 in a minute; two: 1,600 of four minutes, told in one of them: 400 a minute as well
    figures = {"prompt_tokens": [400.0, 1600.0], "l0": [100.0, 400.0], "miss": [300.0, 1200.0], "covers": [1.0, 4.0]}
    rest = {name: [0.0, 0.0] for name in ("l1", "l2", "lower", "transfer")}
    found = fleet_tokens(complete(series([0, 0], **figures, **rest), 60, 0, 60))
    assert found["covered_seconds"].tolist() == [150.0]  # 2,000 tokens at 800 a minute
    assert (rates(found)["L0"] * 60).tolist() == [200.0]
    assert shares(found)["L0"].tolist() == [0.25]


def test_a_trend_has_one_value_a_step_and_nan_in_gaps() -> None:
    found = trend(series([0, 60, 180], hit=[0.5, 0.6, 0.8], width_seconds=[60.0] * 3), "hit", 0, 240)
    assert found[:2] == (0.5, 0.6)
    assert math.isnan(found[2])
    assert found[3] == 0.8
    # 240 buckets of a minute on 48 points: five values each, the worst of 0..4 is 4
    many = series([60.0 * i for i in range(240)], p95=[float(i) for i in range(240)], width_seconds=[60.0] * 240)
    assert trend(many, "p95", 0, 240 * 60, worst=True)[0] == 4
    assert trend(many.iloc[:0], "p95", 0, 240 * 60) == ()
