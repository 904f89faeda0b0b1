"""Which past the simulated fleet still lacks, and how that is told."""

from __future__ import annotations

from dataclasses import replace

from console.cli.past import Stretch, missing
from console.words import backfill_words
from tierdeck.backfill import Backfill

NOW, HOUR = 1_800_000_000.0, 3600.0
DAY = 24 * HOUR
LAST = Backfill("default", Stretch.LAST, NOW - HOUR, NOW, NOW, NOW)
REST = Backfill("default", Stretch.REST, NOW - DAY, NOW - HOUR, NOW - HOUR, NOW)


def known(*some: Backfill) -> dict[str, Backfill]:
    return {one.source: one for one in some}


def test_the_first_start_fills_in_the_last_hour_and_then_the_day_before_it() -> None:
    assert list(missing({}, NOW, DAY)) == [
        (Stretch.LAST, NOW - HOUR, NOW),
        (Stretch.REST, NOW - DAY, NOW - HOUR),
    ]


def test_less_than_an_hour_is_one_stretch_and_nothing_is_nothing() -> None:
    assert list(missing({}, NOW, 1200)) == [(Stretch.LAST, NOW - 1200, NOW)]
    assert list(missing({}, NOW, 0)) == []


def test_a_later_start_goes_on_where_an_earlier_one_was_cut_off() -> None:
    later = NOW + 3 * DAY
    half = replace(LAST, done_at=NOW - HOUR / 2)
    assert list(missing(known(half), later, DAY)) == [
        (Stretch.LAST, NOW - HOUR / 2, NOW),
        (Stretch.REST, NOW - DAY, NOW - HOUR),
    ]
    part = replace(REST, done_at=NOW - 6 * HOUR)
    assert list(missing(known(LAST, part), later, DAY)) == [(Stretch.REST, NOW - 6 * HOUR, NOW - HOUR)]
    assert list(missing(known(LAST, REST), later, DAY)) == []


def test_who_wants_no_history_gets_none_more() -> None:
    assert list(missing(known(replace(LAST, done_at=NOW - HOUR / 2)), NOW, 0)) == []


def test_the_page_tells_how_far_it_has_come_or_that_it_stopped() -> None:
    part = replace(REST, done_at=NOW - 12.5 * HOUR, told_at=NOW)  # 11.5 of 23 hours
    told = backfill_words([LAST, part], NOW + 30)
    assert told is not None
    assert (told.words, told.fresh) == ("filling in the simulated fleet's day: 50 %", True)
    told = backfill_words([LAST, part], NOW + 61)
    assert told is not None
    assert (told.words, told.fresh) == ("filling in the simulated fleet's day stopped at 50 %", False)
    assert backfill_words([LAST, REST], NOW + DAY) is None
