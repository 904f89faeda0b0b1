"""Figures as words: unknown says so, bounds are told, age is told."""

from __future__ import annotations

import pytest

from console.windows import WINDOWS
from console.words import (
    age_words,
    bar_question,
    bounds_words,
    freshness,
    quantile_bounds,
    quantile_words,
    ratio_words,
    short_reason,
)
from tierdeck.figure import Figure, Ratio
from tierdeck.histogram import Quantile

AT = 1_764_424_930.0  # 2025-11-29 14:02:10 UTC


def test_the_data_s_age_is_told_and_old_data_is_called_stale() -> None:
    fresh = freshness(AT, AT + 6, 45)
    assert (fresh.words, fresh.fresh) == ("as of 14:02:10 UTC, 6 s ago", True)
    stale = freshness(AT, AT + 46, 45)
    assert stale.words.startswith("stale: as of 14:02:10 UTC, 46 s ago")
    assert not stale.fresh
    assert "29 Nov 2025" in freshness(AT, AT + 86400, 45).words
    assert freshness(None, AT, 45).words == "no data yet"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (7200, "2 h"), (3 * 86400, "3 d")]
)
def test_ages_are_whole_numbers(seconds: float, words: str) -> None:
    assert age_words(seconds) == words


def test_the_bars_question_follows_the_window() -> None:
    asked = bar_question(WINDOWS["15m"], Figure(48_200_000.0))
    assert asked == "Where did the last 15 minutes' 48.2 M prompt tokens come from?"
    assert bar_question(WINDOWS["1h"], Figure(1000.0)) == "Where did the last hour's 1 k prompt tokens come from?"
    assert bar_question(WINDOWS["7d"], Figure.unknown("x")) == "Where did the last 7 days' prompt tokens come from?"


def test_a_quantile_in_the_last_bucket_is_a_lower_bound() -> None:
    assert quantile_words(Quantile(at_least=60.0)) == "≥ 60 s"
    assert quantile_words(Quantile(value=0.212, low=0.1, high=0.25)) == "212 ms"
    assert quantile_bounds(Quantile(value=0.212, low=0.1, high=0.25)) == "100 ms to 250 ms"
    assert quantile_words(Quantile(reason="no observations in the window")) == "no traffic"


def test_unknown_is_a_word() -> None:
    assert ratio_words(Ratio.unknown("not exported by this engine")) == "not exported"
    assert short_reason("no prompt tokens looked up in the window") == "no traffic"
    assert short_reason("external hits exceed what L0 left over") == "not known"


def test_bounds_that_look_the_same_are_one_number() -> None:
    assert bounds_words(0.161, 0.189) == "16–19 %"
    assert bounds_words(0.161, 0.163) == "16 %"


def test_a_windows_end_is_shared_by_all_who_look_within_a_step() -> None:
    window = WINDOWS["15m"]
    assert window.ends_at(1003.2) == window.ends_at(1004.9) == 1000
    assert window.ends_at(1005.0) == 1005
    assert window.ends_at(1019.0, interval_seconds=15) == 1005  # nothing changes between two scrapes
