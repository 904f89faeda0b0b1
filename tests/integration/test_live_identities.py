"""Counters that must agree, in windows that are read from the store: named as in a snapshot, and no sooner."""

from __future__ import annotations

import pytest

from db import Store
from lab.sim.faults import BY_NAME
from tests.support.rounds import endpoint
from tests.unit.lab_sim.faulty import WHERE, A, B, warm
from tests.unit.lab_sim.scraping import Scraper, fleet
from tierdeck.split import split

_NAMES = {A, B}


def windows(store: Store, scraper: Scraper, length_seconds: float, steps: int) -> list[dict[str, set[str]]]:
    """Codes by replica in windows that follow on each other, read from the store after some more rounds."""
    began_at = scraper.last(A).at
    scraper.run(length_seconds * steps)
    store.declare("c", [endpoint("chat", sorted(_NAMES), "c")], [], "test", "test")
    for name in sorted(_NAMES):
        store.append(scraper.rounds(name))
    found = []
    for step in range(steps):
        start_at = began_at + step * length_seconds
        (accounts,) = store.accounts(start_at, start_at + length_seconds)
        found.append({one.name: {str(note.code) for note in split(one.ledger).notes} for one in accounts.replicas})
    return found


@pytest.mark.parametrize(
    ("fault", "code"), [("hits-not-updated", "not_wired"), ("ttft-undercounted", "counters_disagree")]
)
def test_a_counter_that_stopped_is_named_in_a_live_window_too(store: Store, fault: str, code: str) -> None:
    scraper = warm()
    scraper.fleet.switch(BY_NAME[fault], WHERE, on=True)
    scraper.run(15.0)
    for told in windows(store, scraper, 300.0, 2):
        assert code in told[A]
        assert code not in told[B]


def test_a_sound_fleet_under_load_is_not_accused_in_any_live_window(store: Store) -> None:
    scraper = Scraper(fleet(requests_per_second=2.0))
    scraper.run(600.0)
    for told in windows(store, scraper, 60.0, 20):
        assert not (told[A] | told[B]) & {"counters_disagree", "external_mismatch", "not_wired"}
