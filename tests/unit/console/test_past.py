"""Which past the simulated fleet still lacks, and how that is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from console.cli.children import Children
from console.cli.past import STRETCHES, Missing, Past, missing
from console.words import backfill_words
from db import Store
from tierdeck.backfill import Backfill
from tierdeck.settings import Settings

NOW, HOUR, MINUTE = 1_800_000_000.0, 3600.0, 60.0
DAY = 24 * HOUR
MINUTES, AN_HOUR, A_DAY = STRETCHES
LAST = Backfill("default", MINUTES.name, NOW - 20 * MINUTE, NOW, NOW, NOW)
MIDDLE = Backfill("default", AN_HOUR.name, NOW - HOUR, NOW - 20 * MINUTE, NOW - 20 * MINUTE, NOW)
REST = Backfill("default", A_DAY.name, NOW - DAY, NOW - HOUR, NOW - HOUR, NOW)


def known(*some: Backfill) -> dict[str, Backfill]:
    return {one.source: one for one in some}


def test_the_first_start_fills_in_what_one_looks_at_first() -> None:
    assert list(missing({}, NOW, DAY)) == [
        Missing(MINUTES, NOW - 20 * MINUTE, NOW, NOW),
        Missing(AN_HOUR, NOW - HOUR, NOW - 20 * MINUTE, NOW),
        Missing(A_DAY, NOW - DAY, NOW - HOUR, NOW),
    ]


def test_less_is_fewer_stretches_and_nothing_is_nothing() -> None:
    assert list(missing({}, NOW, 600)) == [Missing(MINUTES, NOW - 600, NOW, NOW)]
    assert [part.start_at for part in missing({}, NOW, 1800)] == [NOW - 20 * MINUTE, NOW - 1800]
    assert list(missing({}, NOW, 0)) == []


def test_a_later_start_goes_on_where_an_earlier_one_was_cut_off() -> None:
    later = NOW + 3 * DAY
    half = replace(LAST, done_at=NOW - 10 * MINUTE)
    assert list(missing(known(half), later, DAY)) == [
        Missing(MINUTES, NOW - 10 * MINUTE, NOW, NOW),
        Missing(AN_HOUR, NOW - HOUR, NOW - 20 * MINUTE, NOW),
        Missing(A_DAY, NOW - DAY, NOW - HOUR, NOW),
    ]
    part = replace(REST, done_at=NOW - 6 * HOUR)
    assert list(missing(known(LAST, MIDDLE, part), later, DAY)) == [Missing(A_DAY, NOW - 6 * HOUR, NOW - HOUR, NOW)]
    assert list(missing(known(LAST, MIDDLE, REST), later, DAY)) == []


def test_a_start_with_all_of_it_filled_in_says_nothing_of_it(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    with Store.open(settings.store_url, migrate=True) as store:
        for one in (LAST, MIDDLE, REST):
            store.tell_backfill(one)
    past = Past(settings, Children(tmp_path, {}), DAY)
    assert [past.go_on(), past.go_on()] == ["", ""]


def test_who_wants_no_history_gets_none_more() -> None:
    assert list(missing(known(replace(LAST, done_at=NOW - 10 * MINUTE)), NOW, 0)) == []


def test_the_page_tells_how_far_it_has_come_or_that_it_stopped() -> None:
    part = replace(REST, done_at=NOW - 12.5 * HOUR, told_at=NOW)  # 11.5 of 23 hours
    told = backfill_words([LAST, part], NOW + 30)
    assert told is not None
    assert (told.words, told.fresh) == ("filling in the simulated fleet's day: 50 %", True)
    told = backfill_words([LAST, part], NOW + 181)
    assert told is not None
    assert (told.words, told.fresh) == ("filling in the simulated fleet's day stopped at 50 %", False)
    assert backfill_words([LAST, REST], NOW + DAY) is None
