"""Coarse rows over fine buckets."""

from __future__ import annotations

import pandas as pd

from console.segments import Source, source_series
from console.spread import spread

START = pd.Timestamp("2026-11-29 12:00", tz="UTC")


def series(*rows: tuple[int, float, float], endpoint: str = "chat") -> pd.DataFrame:
    """(minute, prompt tokens, covers)."""
    minutes, tokens, covers = zip(*rows, strict=True)
    at = [START + pd.Timedelta(minutes=minute) for minute in minutes]
    return pd.DataFrame(
        {"at": at, "cluster": "c", "endpoint": endpoint, "prompt_tokens": tokens, "hit_ratio": 0.5, "covers": covers}
    )


def told(found: pd.DataFrame) -> list[tuple[int, float, float]]:
    minutes = (found["at"] - START).dt.total_seconds() / 60
    return list(zip(minutes.astype(int), found["prompt_tokens"], found["covers"], strict=True))


def test_a_row_of_five_minutes_is_a_fifth_in_each() -> None:
    found = spread(series((0, 50.0, 5.0), (5, 100.0, 5.0), (6, 10.0, 1.0)), 60.0)
    assert told(found) == [
        (0, 50.0, 5.0),  # nothing is known of the minutes before the first row
        (1, 20.0, 1.0), (2, 20.0, 1.0), (3, 20.0, 1.0), (4, 20.0, 1.0), (5, 20.0, 1.0),
        (6, 10.0, 1.0),
    ]  # fmt: skip
    assert found["is_spread"].tolist() == [False, True, True, True, True, False, False]
    assert set(found["hit_ratio"]) == {0.5}


def test_parts_of_a_spread_row_leave_no_rest() -> None:
    # 0.1 + 0.7 tokens a minute are not 0.8 in floating point
    coarse = series((0, 4.0, 5.0), (5, 4.0, 5.0)).assign(l0=0.5, l1=0.0, l2=0.0, lower=0.0, miss=3.5, transfer=0.0)
    assert (source_series(spread(coarse, 60.0))[str(Source.UNKNOWN)] == 0).all()


def test_a_gap_in_scraping_stays_a_hole() -> None:
    gap = series((0, 10.0, 1.0), (4, 40.0, 4.0), (5, 10.0, 1.0))
    assert told(spread(gap, 60.0)) == told(gap)


def test_each_endpoint_is_spread_on_its_own() -> None:
    both = pd.concat([series((0, 20.0, 2.0), (2, 20.0, 2.0)), series((0, 1.0, 1.0), (1, 1.0, 1.0), endpoint="rag")])
    found = spread(both.sort_values(["at", "endpoint"]).reset_index(drop=True), 60.0)
    assert told(found[found["endpoint"] == "chat"]) == [(0, 20.0, 2.0), (1, 10.0, 1.0), (2, 10.0, 1.0)]
    assert told(found[found["endpoint"] == "rag"]) == [(0, 1.0, 1.0), (1, 1.0, 1.0)]
