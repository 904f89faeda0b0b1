"""A window as spans: complete, without overlap, coarse in the middle."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from db.spans import LATE_SECONDS, RAW_WINDOW_SECONDS, Span, bucket_start, spans
from tierdeck.resolution import Resolution

HOUR = 3600.0
RAW, MINUTE, TEN, HOURLY = Resolution


def test_short_windows_are_read_raw() -> None:
    assert spans(0.0, RAW_WINDOW_SECONDS, 1e9) == [Span(RAW, 0.0, RAW_WINDOW_SECONDS)]


def test_without_a_roll_up_all_is_read_raw() -> None:
    assert spans(0.0, 10 * HOUR, None) == [Span(RAW, 0.0, 10 * HOUR)]


def test_edges_are_read_finer_and_what_may_be_late_raw() -> None:
    # 05:50 in seconds is 21000; the roll-up ran at 08:20, so that what ended after 08:10 may still change
    start_at, end_at = 5 * HOUR + 49 * 60 + 30, 8 * HOUR + 19 * 60
    assert spans(start_at, end_at, 8 * HOUR + 20 * 60) == [
        Span(RAW, start_at, 5 * HOUR + 50 * 60),
        Span(TEN, 5 * HOUR + 50 * 60, 6 * HOUR),
        Span(HOURLY, 6 * HOUR, 8 * HOUR),
        Span(TEN, 8 * HOUR, 8 * HOUR + 10 * 60),
        Span(RAW, 8 * HOUR + 10 * 60, end_at),
    ]


def test_rolled_up_rows_carry_their_start() -> None:
    span = Span(TEN, 600.0, 1800.0)
    assert (span.first_at, span.last_at) == (0.0, 1200.0)  # the rows of 600 and 1200
    assert [bucket_start(span, 600.0, index) for index in (0, 1)] == [1200.0, 600.0]


@given(
    start_at=st.floats(1e9, 1e9 + 1e5), seconds=st.floats(1.0, 1e6), rolled=st.none() | st.floats(1e9 - 1e4, 1e9 + 2e6)
)
def test_spans_cover_the_window_once(start_at: float, seconds: float, rolled: float | None) -> None:
    end_at = start_at + seconds
    found = spans(start_at, end_at, rolled)
    assert (found[0].start_at, found[-1].end_at) == (start_at, end_at)
    for one, two in pairwise(found):
        assert one.end_at == two.start_at
    for span in found:
        assert span.start_at < span.end_at
        if span.resolution is not RAW:
            assert rolled is not None
            assert span.end_at <= rolled - LATE_SECONDS
            assert span.start_at % span.resolution.value == span.end_at % span.resolution.value == 0
