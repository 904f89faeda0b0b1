"""Every prompt token in exactly one segment."""

from __future__ import annotations

import pandas as pd
import pytest

from console.segments import Source, hit_bounds, segments, source_series
from tierdeck.account import Answer, ReplicaAccount, WarmingLimits
from tierdeck.ledger import TokenLedger
from tierdeck.summary import Summary, summarize


def summary(**counts: object) -> Summary:
    ledger = TokenLedger(0.0, 60.0, engine_scrapes=1, **counts)  # type: ignore[arg-type]
    return summarize(ReplicaAccount("r", ledger, Answer.ENGINE), WarmingLimits())


SPLIT = {"lookup_tokens": 1000.0, "cache_at_start": True, "cache_at_end": True}


def test_an_exact_split_has_four_segments() -> None:
    # 400 of 700 loaded: LMCache found 300 in L1 and 100 in L2, and no more than was loaded
    told = summary(
        prompt_tokens=1000.0, l0_hits=300.0, external_queries=700.0, external_hits=400.0, l1_found=300.0,
        l2_found=100.0, **SPLIT,
    )  # fmt: skip
    parts = segments([told])
    assert [(part.source, part.tokens, part.share) for part in parts] == [
        (Source.L0, 300, 0.3),
        (Source.L1, 300, 0.3),
        (Source.L2, 100, 0.1),
        (Source.MISS, 300, 0.3),
    ]
    assert not any(part.estimated for part in parts)
    assert hit_bounds(parts) == pytest.approx((0.7, 0.7))


def test_an_estimate_has_bounds() -> None:
    # E = 400, found 350 + 100: L1 in [400 − 100, min(400, 350)] = [300, 350], L2 = 400 − L1 in [50, 100]
    told = summary(
        prompt_tokens=1000.0, l0_hits=300.0, external_queries=700.0, external_hits=400.0, l1_found=350.0,
        l2_found=100.0, **SPLIT,
    )  # fmt: skip
    l1, l2 = (part for part in segments([told]) if part.source in (Source.L1, Source.L2))
    assert (l1.share_low, l1.share, l1.share_high) == (0.3, 0.3, 0.35)
    assert (l2.share_low, l2.share, l2.share_high) == (0.05, 0.1, 0.1)
    assert l1.estimated
    assert l2.estimated


def test_an_estimate_of_nothing_is_shown_where_it_may_be_something() -> None:
    # E = 400, found 350 + 400: L1 in [0, 350], L2 in [50, 400]; the estimate is L2 = 400, L1 = 0
    told = summary(
        prompt_tokens=1000.0, l0_hits=300.0, external_queries=700.0, external_hits=400.0, l1_found=350.0,
        l2_found=400.0, **SPLIT,
    )  # fmt: skip
    l1, l2 = (part for part in segments([told]) if part.source in (Source.L1, Source.L2))
    assert (l1.tokens, l1.share_low, l1.share_high) == (0, 0, 0.35)
    assert (l2.tokens, l2.share_low, l2.share_high) == (400, 0.05, 0.4)


def test_what_is_not_told_apart_stays_together_and_hides_nobody_elses_tiers() -> None:
    told = summary(
        prompt_tokens=1000.0, l0_hits=300.0, external_queries=700.0, external_hits=400.0, l1_found=300.0,
        l2_found=100.0, **SPLIT,
    )  # fmt: skip
    unsplit = summary(prompt_tokens=1000.0, l0_hits=500.0, external_queries=500.0, external_hits=200.0)
    dark = summary(prompt_tokens=2000.0, l0_hits=1000.0, unattributed_tokens=2000.0)
    parts = {part.source: part.tokens for part in segments([told, unsplit, dark])}
    # L0 300 + 500 + 1000; recomputed 300 + 300; of the third, 2000 − 1000 are anything
    assert parts == {
        Source.L0: 1800,
        Source.L1: 300,
        Source.L2: 100,
        Source.LOWER: 200,
        Source.MISS: 600,
        Source.UNKNOWN: 1000,
    }
    assert hit_bounds(segments([told, unsplit, dark])) == pytest.approx((2400 / 4000, 3400 / 4000))


def test_more_hit_than_looked_up_is_no_share_and_does_not_stretch_the_bar() -> None:
    sound = summary(prompt_tokens=1000.0, l0_hits=300.0, external_queries=0.0, external_hits=0.0)
    odd = summary(prompt_tokens=1000.0, l0_hits=1100.0, external_queries=0.0, external_hits=0.0)
    parts = {part.source: part.tokens for part in segments([sound, odd])}
    assert parts == {Source.L0: 300, Source.MISS: 700, Source.UNKNOWN: 1000}


def test_no_traffic_and_nothing_readable_give_no_bar() -> None:
    idle = summary(prompt_tokens=0.0, l0_hits=0.0, external_hits=0.0)
    down = summarize(ReplicaAccount("r", TokenLedger(0.0, 60.0), Answer.NOTHING), WarmingLimits())
    assert segments([idle]) == []
    assert segments([down]) == []
    assert segments([]) == []


def test_over_time_a_bucket_adds_up_and_an_unknown_one_is_a_gap() -> None:
    nan = float("nan")
    series = pd.DataFrame(
        {
            "at": pd.to_datetime([0, 60, 120, 180], unit="s", utc=True),
            "prompt_tokens": [100.0, 100.0, nan, 100.0],
            "l0": [40.0, 40.0, nan, 110.0],
            "l1": [20.0, nan, nan, 0.0],
            "l2": [10.0, nan, nan, 0.0],
            "lower": [30.0, nan, nan, 0.0],
            "miss": [30.0, nan, nan, nan],
            "transfer": [0.0, 0.0, nan, 0.0],
        }
    )
    found = source_series(series)
    names = [str(source) for source in Source]
    assert list(found.loc[0, names]) == [40, 20, 10, 0, 30, 0, 0]
    assert list(found.loc[1, names]) == [40, 0, 0, 0, 0, 0, 60]
    assert found.loc[2, names].isna().all()
    assert list(found.loc[3, names]) == [0, 0, 0, 0, 0, 0, 100]  # more hit than looked up
