"""Any fleet: what is counted through a Prometheus is what scraping the targets themselves counts."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.history import chunks
from collectors.prometheus.watch import Watch
from tests.support.any_fleets import FIRST_MOMENT
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.scraped_fleets import (
    INTERVAL_SECONDS,
    LATE_SECONDS,
    Counted,
    Pod,
    added_up,
    moment,
    pods,
    scrape,
    scraped_directly,
)

_slow = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def live(last: int, fleet: list[Pod]) -> dict[str, Counted]:
    """Asked at every moment, with the pages that are readable by then."""
    server = MemoryPrometheus()
    asking = Asking(server)
    watch = Watch(FIRST_MOMENT, LATE_SECONDS)
    rounds = []
    for number in range(last + 1):
        for pod in fleet:
            if number not in pod.late:
                scrape(server, pod, number)
        at = moment(number)
        if not number:
            asking.discover(at)
        seen = asking.raw(at - INTERVAL_SECONDS - LATE_SECONDS, at)
        rounds += watch.feed(seen, arrange(asking.catalogue.addresses, (), "default"), [at])
        for pod in fleet:
            if number in pod.late:
                scrape(server, pod, number)
    return added_up(rounds)


def told(counted: dict[str, Counted]) -> dict[str, object]:
    """What pods counted that counted anything: one that was never read has no rounds."""
    return {name: one.told for name, one in counted.items() if one.told != Counted().told}


@_slow
@given(pods())
def test_a_prometheus_asked_at_the_moments_of_scraping_gives_the_same_ledger(drawn: tuple[int, list[Pod]]) -> None:
    assert told(live(*drawn)) == told(scraped_directly(*drawn))


@_slow
@given(pods(may_be_late=True))
def test_scrapes_that_are_readable_too_late_are_counted_all_the_same(drawn: tuple[int, list[Pod]]) -> None:
    assert told(live(*drawn)) == told(scraped_directly(*drawn))


STEP_SECONDS = 3 * INTERVAL_SECONDS


def past(last: int, fleet: list[Pod]) -> dict[str, Counted]:
    """Asked for after the fact, every three minutes; `last` is a multiple of three."""
    server = MemoryPrometheus()
    for number in range(last + 1):
        for pod in fleet:
            scrape(server, pod, number)
    asking = Asking(server)
    asking.discover(moment(last))
    watch = Watch(FIRST_MOMENT, 0.0, past_step_seconds=STEP_SECONDS)
    rounds = []
    for chunk in chunks(asking, int(FIRST_MOMENT), int(moment(last)), STEP_SECONDS):
        rounds += watch.feed(chunk.seen, arrange(asking.catalogue.addresses, (), "default"), chunk.moments)
    return added_up(rounds)


def cache_is_on_the_grid(pod: Pod, last: int) -> bool:
    """Lives of an engine between two moments of the grid are looked for, those of a cache server are not."""
    pages = pod.pages.get("lmcache-mp")
    return pages is None or any(page and number % 3 == 0 and number <= last for number, page in pages.items())


@_slow
@given(pods(most_steps=9))
def test_a_coarse_grid_of_the_past_counts_the_same_wherever_it_tells_no_gap(drawn: tuple[int, list[Pod]]) -> None:
    last, fleet = drawn
    last -= last % 3
    found, direct = past(last, fleet), scraped_directly(last, fleet)
    for pod in fleet:
        counted = found.get(pod.name, Counted())
        if not counted.gaps and cache_is_on_the_grid(pod, last):
            assert counted.told == direct.get(pod.name, Counted()).told
