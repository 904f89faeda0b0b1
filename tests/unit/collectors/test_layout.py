"""What a reader remembers of pages never shows: the next page is read as if it were the first."""

from __future__ import annotations

import pytest

from collectors.families import FamilyReader
from collectors.source import Family, Kind, TargetReading
from tierdeck.readings import Reading

FAMILIES = (
    Family(Reading.PROMPT_TOKENS, Kind.COUNTER, ("new:lookups", "old:lookups")),
    Family(Reading.L0_HITS, Kind.COUNTER, ("new:hits", "old:hits"), like=Reading.PROMPT_TOKENS),
    Family(Reading.RUNNING, Kind.GAUGE, ("running",)),
    Family(Reading.TTFT, Kind.HISTOGRAM, ("ttft",)),
)
PAGE = """process_start_time_seconds 7
new:lookups_total{worker="0"} 5
running{worker="0"} 1
running{worker="1"} 2
ttft_bucket{le="0.5"} 3
ttft_bucket{le="+Inf"} 4
ttft_sum 1.5
"""


def reader() -> FamilyReader:
    return FamilyReader(FAMILIES, router_label="server")


def read(one: FamilyReader, page: str) -> TargetReading:
    reading = one.read(page)
    assert reading is not None
    return reading


@pytest.mark.parametrize(
    "page",
    [
        PAGE,
        PAGE.replace(" 5\n", " 6\n"),
        PAGE.replace(" 5\n", " NaN\n"),  # no count, and the family is not there
        PAGE.replace(" 5\n", " 1e19\n"),
        PAGE.replace(" 5\n", " -1\n"),  # no count, of a family that is there
        PAGE.replace("ttft_sum 1.5\n", ""),
        PAGE.replace("} 4\n", "} +Inf\n"),  # a histogram without its last bucket is none
        PAGE + "new:hits_total 1\nold:hits_total 2\nold:lookups_total 9\n",
        PAGE + 'running{worker="1"} 8\n',  # a duplicate
        PAGE + 'running{server="x"} NaN\n',  # a router's copy
        PAGE + "running\n",
        "".join(reversed(PAGE.splitlines(keepends=True))),
    ],
)
def test_a_page_is_read_alike_whatever_was_read_before(page: str) -> None:
    used = reader()
    for before in (PAGE, page, PAGE, page):
        read(used, before)
    assert read(used, page) == read(reader(), page)


def test_values_that_are_none_count_again_as_soon_as_they_are() -> None:
    one = reader()
    found = [read(one, PAGE.replace(" 2\n", f" {value}\n")).gauge(Reading.RUNNING) for value in ("2", "NaN", "3")]
    assert found == [3.0, 1.0, 4.0]  # 1 of the other worker, and 2, none and 3


def test_what_is_done_to_one_reading_is_not_done_to_the_next() -> None:
    one = reader()
    first = read(one, PAGE)
    first.counters.clear()
    first.gauges.clear()
    first.spelled.clear()
    assert read(one, PAGE) == read(reader(), PAGE)


def test_pages_that_never_repeat_are_forgotten() -> None:
    one = reader()
    for number in range(300):
        assert read(one, "".join(f'running{{x="{number}-{other}"}} 1\n' for other in range(400))).recognised
    assert one.remembered <= 50_000


def test_series_too_long_to_be_remembered_are_not_kept() -> None:
    one = reader()
    for number in range(3):
        assert read(one, f'running{{x="{number}{"y" * 5000}"}} 1\n').gauge(Reading.RUNNING) == 1.0
    assert one.remembered == 0
