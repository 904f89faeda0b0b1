"""Roll-ups and endpoint series, on both databases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from db import Store
from tests.support.rounds import T0, a_round, histogram, key, ledger
from tierdeck.account import Answer, Gauges, WarmingLimits
from tierdeck.fleet import FLEET
from tierdeck.ledger import TokenLedger
from tierdeck.resolution import ROLLUPS, Resolution

LIMITS = WarmingLimits()
HOUR_START = T0 - 1200  # T0 is 20 minutes past an hour


def rows(store: Store, name: str) -> int:
    frame = store.sizes()
    return int(frame.loc[frame["table"] == name, "rows"].sum())


def record(frame: pd.DataFrame, endpoint: str) -> dict[str, Any]:
    """An endpoint's one row."""
    (found,) = frame[frame["endpoint"] == endpoint].to_dict("records")
    return {str(name): value for name, value in found.items()}


def starts(frame: pd.DataFrame) -> list[float]:
    """The buckets in epoch seconds."""
    return [at.timestamp() for at in frame["at"]]


def minutes(store: Store, **more: object) -> pd.DataFrame:
    return store.endpoint_series(T0 - 3600, T0 + 7200, Resolution.MINUTE, **more)  # type: ignore[arg-type]


def test_buckets_hold_what_ended_in_them(store: Store) -> None:
    # 15 to 60 lie in the minute from T0 on, its end included; 75 in the next
    store.append([a_round(T0 + seconds, prompt=100.0) for seconds in (15, 30, 45, 60, 75)])
    store.rollup(T0 + 90, LIMITS)
    frame = minutes(store)
    assert starts(frame) == [T0, T0 + 60]
    assert frame["prompt_tokens"].tolist() == [400.0, 100.0]
    assert frame["hit_ratio"].tolist() == [0.7, 0.7]  # 50 from L0 and 20 from below, of 100
    for resolution, start in ((Resolution.TEN_MINUTES, T0), (Resolution.HOUR, HOUR_START)):
        coarse = store.endpoint_series(T0, T0 + 90, resolution)
        assert starts(coarse) == [start]
        assert coarse["prompt_tokens"].tolist() == [500.0]


@pytest.mark.parametrize("resolution", [Resolution.RAW, Resolution.MINUTE])
def test_a_round_that_tells_of_a_gap_too_is_spread_over_it(store: Store, resolution: Resolution) -> None:
    # a: 100 a round for 4 minutes; b was not read for 3 minutes, and its next round has all of their 1,200 tokens
    steady = [a_round(T0 + 15 * n, prompt=100.0) for n in range(1, 17)]
    gap = [a_round(T0 + 15 * n, key("b"), prompt=None) for n in range(1, 12)]
    whole = a_round(T0 + 180, key("b"), counts=ledger(T0 + 180, 1200.0, seconds=180.0))
    after = [a_round(T0 + 15 * n, key("b"), prompt=100.0) for n in range(13, 17)]
    store.append([*steady, *gap, whole, *after])
    store.rollup(T0 + 300, LIMITS)
    found = store.endpoint_series(T0, T0 + 240, resolution)
    total = store.endpoint_series(T0, T0 + 240, resolution, total=True)
    width = resolution.value or 15
    rates = (found["prompt_tokens"] / found["covers"] / width).round(6).tolist()
    # 100 and 100 in 15 s from the moment on at which b is read again, 100 in 15 s before
    known = [round((200 if one.timestamp() + width >= T0 + 180 else 100) / 15, 6) for one in found["at"]]
    assert rates == known
    assert total["covers"].tolist() == found["covers"].tolist()


def test_rolling_up_again_changes_nothing(store: Store) -> None:
    store.append([a_round(T0 + 15 * n, prompt=10.0, ttft=histogram(1, 0, 0, 0, 1)) for n in range(1, 200)])
    store.rollup(T0 + 3000, LIMITS)
    before = [store.endpoint_series(T0 - 3600, T0 + 7200, one) for one in ROLLUPS], store.sizes()["rows"].tolist()
    store.rollup(T0 + 3000, LIMITS)
    store.rollup_range(T0 - 7200, T0 + 7200, LIMITS)
    after = [store.endpoint_series(T0 - 3600, T0 + 7200, one) for one in ROLLUPS], store.sizes()["rows"].tolist()
    for a, b in zip(before[0], after[0], strict=True):
        pd.testing.assert_frame_equal(a, b)
    assert after[1] == before[1]


def test_rolling_up_step_by_step_gives_the_same_as_at_once(store: Store) -> None:
    rounds = [a_round(T0 + 15.0 * n, prompt=float(n), gauges=Gauges(running=float(n))) for n in range(1, 130)]
    for one in rounds:
        store.append([one])
        if one.at % 240 == 0:
            store.rollup(one.at + 1, LIMITS)
    store.rollup_range(rounds[-1].at - 1, rounds[-1].at, LIMITS)
    for resolution in ROLLUPS:
        frame = store.endpoint_series(T0 - 3600, T0 + 7200, resolution)
        width = resolution.value
        expected: dict[float, float] = {}
        last: dict[float, float] = {}
        for one in rounds:
            start = math.ceil(one.at / width) * width - width
            expected[start] = expected.get(start, 0.0) + (one.ledger.prompt_tokens or 0.0)
            last[start] = one.gauges.running or 0.0
        assert dict(zip(starts(frame), frame["prompt_tokens"], strict=True)) == expected
        assert frame["running"].tolist() == list(last.values())


def test_late_rows_are_picked_up_for_ten_minutes(store: Store) -> None:
    store.append([a_round(T0 + 15), a_round(T0 + 30)])
    store.rollup(T0 + 600, LIMITS)
    store.append([a_round(T0 + 45)])
    store.rollup(T0 + 615, LIMITS)
    assert minutes(store)["prompt_tokens"].tolist() == [3000.0]
    assert store.endpoint_series(T0, T0 + 60, Resolution.TEN_MINUTES)["prompt_tokens"].tolist() == [3000.0]


def test_an_open_hour_is_written_anew_when_ten_minutes_have_ended(store: Store) -> None:
    def hour() -> list[float]:
        return store.endpoint_series(T0, T0 + 60, Resolution.HOUR)["prompt_tokens"].tolist()

    store.append([a_round(T0 + 15)])
    store.rollup(T0 + 30, LIMITS)
    store.append([a_round(T0 + 45)])
    store.rollup(T0 + 60, LIMITS)
    assert hour() == [1000.0]
    store.rollup(T0 + 600, LIMITS)
    assert hour() == [2000.0]


def test_a_back_fill_is_rolled_up_on_request(store: Store) -> None:
    store.append([a_round(T0 + 7200)])
    store.rollup(T0 + 7201, LIMITS)
    store.append([a_round(T0 + 15)])
    store.rollup(T0 + 7230, LIMITS)
    assert minutes(store)["prompt_tokens"].tolist() == [1000.0]
    store.rollup_range(T0, T0 + 15, LIMITS)
    assert minutes(store)["prompt_tokens"].tolist() == [1000.0, 1000.0]


def test_pruned_rows_do_not_shrink_what_was_rolled_up(store: Store) -> None:
    store.append([a_round(T0 + 15), a_round(T0 + 30)])
    store.rollup(T0 + 60, LIMITS)
    keep = dict.fromkeys(Resolution, 10**9)
    store.prune(T0 + 60, keep | {Resolution.RAW: 35})  # the row of 15 goes
    store.rollup_range(T0, T0 + 60, LIMITS)
    assert minutes(store)["prompt_tokens"].tolist() == [2000.0]


def test_without_rounds_there_is_nothing_to_roll_up(store: Store) -> None:
    store.rollup(T0, LIMITS)
    store.rollup_range(T0, T0 + 60, LIMITS)
    for resolution in Resolution:
        frame = store.endpoint_series(T0, T0 + 60, resolution)
        assert frame.empty
        assert str(frame["at"].dtype) == "datetime64[us, UTC]"
        assert frame["l0"].dtype == np.float64
        assert store.endpoint_series(T0, T0 + 60, resolution, total=True).columns.tolist() == frame.columns.tolist()
        assert store.replica_series(T0, T0 + 60, resolution, "east", "chat").empty


def test_a_long_gap_is_a_gap(store: Store) -> None:
    store.append([a_round(T0 + 15), a_round(T0 + 86400 * 30)])
    store.rollup(T0 + 86400 * 30, LIMITS)
    assert rows(store, "endpoints_1m") == 2
    assert rows(store, "ledger_1h") == 2


@pytest.mark.parametrize("resolution", [Resolution.RAW, Resolution.MINUTE])
def test_replicas_are_summed_honestly(store: Store, resolution: Resolution) -> None:
    store.append(
        [
            a_round(T0 + 15, prompt=100.0, gauges=Gauges(0.5, 100.0, 1.0, 0.0)),
            a_round(T0 + 15, key("b"), prompt=300.0, gauges=Gauges(0.1, 300.0, 2.0, 3.0)),
            a_round(T0 + 15, key("c"), prompt=None),  # down: left out
            a_round(T0 + 15, key("d", "code"), counts=ledger(T0 + 15, 50.0, external_hits=None)),
        ]
    )
    store.rollup(T0 + 60, LIMITS)
    frame = store.endpoint_series(T0, T0 + 60, resolution)
    chat, code = record(frame, "chat"), record(frame, "code")
    assert (chat["replicas"], chat["readable"]) == (3, 2)
    # half of 400 from L0, a fifth from below, the rest recomputed; no LMCache tells L1 from L2
    figures = ["prompt_tokens", "l0", "lower", "miss", "transfer", "requests", "running", "waiting"]
    assert [chat[name] for name in figures] == [400.0, 200.0, 80.0, 120.0, 0.0, 20.0, 3.0, 3.0]
    assert chat["kv_usage_ratio"] == pytest.approx((0.5 * 100 + 0.1 * 300) / 400)
    assert np.isnan(chat["l1"])
    assert (chat["l1_low"], chat["l1_high"], chat["l2_low"], chat["l2_high"]) == (0.0, 80.0, 0.0, 80.0)
    # external hits are not known, and so neither are the tiers below, nor the ratio
    assert code["prompt_tokens"] == 50.0
    assert np.isnan([code["lower"], code["miss"], code["hit_ratio"]]).all()


@pytest.mark.parametrize("resolution", [Resolution.RAW, Resolution.MINUTE])
def test_a_replica_that_fell_silent_counts_with_what_it_told(store: Store, resolution: Resolution) -> None:
    store.append([a_round(T0 + 5), a_round(T0 + 10, prompt=None), a_round(T0 + 10, key("b"), prompt=None)])
    store.rollup(T0 + 60, LIMITS)
    frame = store.endpoint_series(T0, T0 + 60, resolution)
    assert frame["prompt_tokens"].tolist() == [1000.0]
    assert (frame["replicas"][0], frame["readable"][0]) == (2, 1)


def test_a_shared_cache_server_splits_the_endpoint(store: Store) -> None:
    shared = TokenLedger(T0, T0 + 15, lookup_tokens=100.0, l1_found=30.0, l2_found=0.0, cache_at_start=True,
                         cache_at_end=True)  # fmt: skip
    store.append([a_round(T0 + 15, prompt=100.0), a_round(T0 + 15, key(FLEET), counts=shared, answer=Answer.NO_ENGINE)])
    store.rollup(T0 + 60, LIMITS)
    row = record(minutes(store), "chat")
    # 20 external hits; L2 found nothing, so that all of them came from L1
    assert [row[name] for name in ("l1", "l1_low", "l1_high", "l2")] == [20.0, 20.0, 20.0, 0.0]
    assert row["replicas"] == 1


@pytest.mark.parametrize("resolution", [Resolution.RAW, Resolution.MINUTE])
def test_ttft_quantiles_carry_their_bounds(store: Store, resolution: Resolution) -> None:
    # bounds 0.1, 0.25, 0.5, 1: of 10 observations 6 are in (0.1, 0.25], 4 above 1
    store.append([a_round(T0 + 15, ttft=histogram(0, 6, 0, 0, 4)), a_round(T0 + 15, key("x", "other"))])
    store.rollup(T0 + 60, LIMITS)
    frame = store.endpoint_series(T0, T0 + 60, resolution)
    chat, other = record(frame, "chat"), record(frame, "other")
    # the 5th of 10: 0.1 + 0.15 × 5/6
    assert chat["ttft_p50"] == pytest.approx(0.225)
    assert (chat["ttft_p50_low"], chat["ttft_p50_high"]) == (0.1, 0.25)
    assert np.isnan(chat["ttft_p95"])
    assert (chat["ttft_p95_low"], chat["ttft_p95_high"]) == (1.0, np.inf)
    assert np.isnan([other["ttft_p50"], other["ttft_p50_low"], other["ttft_p95_high"]]).all()


def test_the_total_sums_endpoints_with_a_readable_replica(store: Store) -> None:
    usage, other = Gauges(0.5, 100.0, 1.0, 0.0), Gauges(0.1, 300.0, 2.0, 0.0)
    store.append(
        [
            a_round(T0 + 15, prompt=100.0, gauges=usage, ttft=histogram(2, 0, 0, 0, 0)),
            a_round(T0 + 15, key("x", "code"), prompt=300.0, gauges=other, ttft=histogram(0, 2, bounds=(0.1,))),
            a_round(T0 + 15, key("y", "dead"), prompt=None),
            a_round(T0 + 75, key("y", "dead"), prompt=None),
            a_round(T0 + 195, prompt=100.0, ttft=histogram(2, 0, 0, 0, 0)),
            a_round(T0 + 195, key("x", "code"), counts=ledger(T0 + 195, 50.0, external_hits=None)),
        ]
    )
    store.rollup(T0 + 240, LIMITS)
    frame = minutes(store, total=True)
    assert starts(frame) == [T0, T0 + 60, T0 + 180]  # no row for the third minute
    assert set(frame["cluster"]) == set(frame["endpoint"]) == {""}
    assert frame["prompt_tokens"].tolist()[0] == 400.0
    assert frame["kv_usage_ratio"].tolist()[0] == pytest.approx((0.5 * 100 + 0.1 * 300) / 400)
    # on the shared bound 0.1: two below it, two above
    assert (frame["ttft_p50"][0], frame["ttft_p95_low"][0], frame["ttft_p95_high"][0]) == (0.1, 0.1, np.inf)
    assert frame.loc[1, ["prompt_tokens", "hit_ratio", "ttft_p50"]].isna().all()
    assert frame["readable"].tolist() == [2, 0, 2]
    # in the last minute one endpoint can't tell what came from below, nor its TTFT
    assert frame["prompt_tokens"][2] == 150.0
    assert frame.loc[2, ["lower", "miss", "hit_ratio", "ttft_p50"]].isna().all()


def test_the_total_of_one_endpoint_is_the_endpoint(store: Store) -> None:
    rounds = [
        a_round(T0 + 15 * n, prompt=100.0, ttft=histogram(1, 2, 3, 0, 0), gauges=Gauges(0.5)) for n in range(1, 9)
    ]
    store.append(rounds)
    store.rollup(T0 + 120, LIMITS)
    names = ["cluster", "endpoint"]
    pd.testing.assert_frame_equal(minutes(store).drop(columns=names), minutes(store, total=True).drop(columns=names))


def test_endpoints_can_be_asked_for_alone(store: Store) -> None:
    store.append([a_round(T0 + 15), a_round(T0 + 15, key("a", "code")), a_round(T0 + 15, key(cluster="west"))])
    store.rollup(T0 + 60, LIMITS)
    for resolution in (Resolution.RAW, Resolution.MINUTE):
        one = store.endpoint_series(T0, T0 + 60, resolution, "east", "code")
        assert (one["cluster"].tolist(), one["endpoint"].tolist()) == (["east"], ["code"])
        assert len(store.endpoint_series(T0, T0 + 60, resolution, "east")) == 2


def test_raw_buckets_are_as_wide_as_the_rounds(store: Store) -> None:
    store.append([a_round(T0 + 30.0 * n, counts=ledger(T0 + 30.0 * n, 10.0, 30.0)) for n in range(1, 5)])
    frame = store.endpoint_series(T0, T0 + 120, Resolution.RAW)
    assert starts(frame) == [T0, T0 + 30, T0 + 60, T0 + 90]
    assert frame["prompt_tokens"].tolist() == [10.0] * 4


@pytest.mark.parametrize("resolution", list(Resolution))
def test_replicas_over_time(store: Store, resolution: Resolution) -> None:
    store.append(
        [
            a_round(T0 + 15, prompt=100.0),
            a_round(T0 + 15, key("b"), prompt=None),
            a_round(T0 + 15, key(FLEET), counts=TokenLedger(T0, T0 + 15), answer=Answer.NO_ENGINE),
            a_round(T0 + 15, key("x", "other")),
        ]
    )
    store.rollup(T0 + 60, LIMITS)
    frame = store.replica_series(T0, T0 + 60, resolution, "east", "chat")
    assert frame["replica"].tolist() == ["a", "b"]
    figures = ["prompt_tokens", "hit_ratio", "l0", "lower", "miss", "requests", "restarts"]
    assert list(frame[figures].iloc[0]) == [100.0, 0.7, 50.0, 20.0, 30.0, 10.0, 0]
    assert frame[figures[:-1]].isna().all(axis=1).tolist() == [False, True]
