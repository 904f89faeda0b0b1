"""Samples put together as the pages that were scraped, with the last page of each process."""

from __future__ import annotations

from collectors.prometheus.addresses import Catalogue
from collectors.prometheus.pages import Pages, Sightings
from collectors.prometheus.server import Series
from tests.support.prometheus_targets import on_host

QUERIES, HITS, START = "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total", "process_start_time_seconds"


def series(name: str, *values: tuple[float, str]) -> Series:
    return {"metric": {"__name__": name, **on_host("a")}, "values": list(values)}


def seen(*answers: Series, are_scrapes: bool = True) -> tuple[Pages, float | None]:
    """The pages of the one target, and the interval between its scrapes."""
    sightings = Sightings(Catalogue())
    sightings.take(answers)
    ((address, pages),) = sightings.pages(are_scrapes=are_scrapes).items()
    return pages, address.interval_seconds


def test_samples_of_one_instant_are_one_page() -> None:
    pages, interval = seen(series(QUERIES, (15.0, "1"), (30.0, "2")), series(HITS, (30.0, "1")))
    assert [(page.at, dict(page.lines)) for page in pages.pages] == [
        (15.0, {QUERIES: "1"}), (30.0, {QUERIES: "2", HITS: "1"})
    ]  # fmt: skip
    assert pages.falls == []
    assert interval == 15.0


def test_one_scrape_that_was_stored_a_little_apart_is_one_page() -> None:
    pages, interval = seen(
        series(QUERIES, (15.0, "1"), (30.0, "2")), series(HITS, (15.125, "1"), (30.25, "2")),
        series("up", (15.0, "1"), (30.0, "1")),
    )  # fmt: skip
    assert [(page.at, len(page.lines)) for page in pages.pages] == [(15.0, 2), (30.0, 2)]
    assert interval == 15.0


def test_the_last_page_of_a_process_is_known_also_where_it_was_stored_a_little_apart() -> None:
    pages, _ = seen(series(QUERIES, (15.0, "5"), (30.0, "1")), series(HITS, (15.125, "5"), (30.125, "0")))
    assert pages.falls == [15.0]
    last = pages.last(pages.falls[0])
    assert last is not None
    assert last.lines == {QUERIES: "5", HITS: "5"}


def test_two_samples_of_one_series_are_two_scrapes_however_close() -> None:
    pages, _ = seen(series(QUERIES, (15.0, "1"), (15.25, "2")))
    assert [page.at for page in pages.pages] == [15.0, 15.25]


def test_another_start_time_ends_a_process_though_no_counter_fell() -> None:
    pages, _ = seen(series(QUERIES, (15.0, "1"), (30.0, "2")), series(START, (15.0, "7"), (30.0, "22")))
    assert pages.falls == [15.0]


def test_a_gauge_that_falls_ends_nothing() -> None:
    pages, _ = seen(series("vllm:num_requests_running", (15.0, "3"), (30.0, "1")))
    assert pages.falls == []


def test_a_failed_scrape_is_a_page_without_lines_and_the_one_before_may_be_the_last() -> None:
    pages, _ = seen(series(QUERIES, (15.0, "1"), (45.0, "2")), series("up", (15.0, "1"), (30.0, "0"), (45.0, "1")))
    assert [(page.at, page.is_up) for page in pages.pages] == [(15.0, True), (30.0, False), (45.0, True)]
    assert pages.falls == [15.0]


def test_moments_of_a_grid_tell_no_interval() -> None:
    assert seen(series(QUERIES, (0.0, "1"), (300.0, "2")), are_scrapes=False)[1] is None


def test_the_old_counters_help_is_asked_for_only_where_it_has_a_say() -> None:
    asked = []

    def help_text() -> str:
        asked.append(1)
        return "number of queried blocks"

    plain, _ = seen(series(QUERIES, (15.0, "1")))
    assert plain.pages[0].body(help_text).count("HELP") == 0
    assert not asked
    old, _ = seen(series("vllm:gpu_prefix_cache_queries_total", (15.0, "1")))
    assert "# HELP vllm:gpu_prefix_cache_queries number of queried blocks\n" in old.pages[0].body(help_text)
