"""Faults of keys and traffic on the manual clock: what is seen in the scraped text while one is on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.sim.faults import BY_NAME
from lab.sim.fleet import Fleet
from lab.sim.job import Job
from lab.sim.spec import FleetSpec
from lab.sim.workload import Request
from tests.unit.lab_sim.faulty import WHERE, A, B, by_name, off, on, sample, share, warm
from tests.unit.lab_sim.scraping import BEGAN_AT, ENDPOINT, Scraper
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt


def hash_seed() -> None:
    scraper = warm()
    on(scraper, "hash-seed", 30.0)
    cold = Prompt(1000, tuple(range(7_000_000, 7_000_007)))
    first, second = scraper.fleet.endpoints["chat"].replicas
    first.cache.l2.store(first.cache.chunks_of(cold), 10)
    assert second.cache.look_up(cold).external == 0
    off(scraper, "hash-seed")
    assert first.cache.chunks_of(cold) == second.cache.chunks_of(cold)


def shared_key_space() -> None:
    other = replace(ENDPOINT, name="rag", model="other", workload="rag")
    scraper = Scraper(Fleet(FleetSpec((ENDPOINT, other), (40 * 2**30,)), 1, BEGAN_AT))
    scraper.run(300.0)
    on(scraper, "shared-key-space", 120.0)
    tiers = scraper.tiers("rag-0")
    assert tiers.l2.figure.value
    assert tiers.l2.figure.value > 0.1 * (tiers.prompt_tokens.value or 0)
    off(scraper, "shared-key-space")


def strategy_not_effective() -> None:
    scraper = warm()
    endpoint = scraper.fleet.endpoints["chat"]
    scraper.fleet.switch(BY_NAME["strategy-not-effective"], WHERE, on=True)
    endpoint.set_strategy(RoutingStrategy.PREFIXAWARE)
    scraper.run(300.0)
    assert 'policy="cache_aware"' in scraper.fleet.body("chat", "_fleet", "router")
    requests = [replica.truth.requests for replica in endpoint.replicas]
    assert abs(requests[0] - requests[1]) <= 2  # still one after the other
    off(scraper, "strategy-not-effective")
    assert endpoint.effective_strategy is RoutingStrategy.PREFIXAWARE


def workload_shift() -> None:
    scraper = warm()
    scraper.forget()
    scraper.run(300.0)
    before = [share(scraper, name, "miss") for name in (A, B)]
    on(scraper, "workload-shift", 300.0)
    after = [share(scraper, name, "miss") for name in (A, B)]
    assert min(after) > 0.9 > max(before)
    assert not scraper.account(A).ledger.restarts


def eviction_storm() -> None:
    scraper = warm()
    name = "lmcache_mp_l2_evicted_objects_chunks_total"
    before = sample(scraper.text(A, "lmcache-mp"), name)
    on(scraper, "eviction-storm", 120.0)
    assert sample(scraper.text(A, "lmcache-mp"), name) > before + 100
    assert sample(scraper.text(B, "lmcache-mp"), "lmcache_mp_l1_evicted_chunks_total") > 0


def chat_not_routed() -> None:
    def homes(*, is_chat: bool, first: int) -> set[str]:
        """Where four identical prompts come to, one after the other."""
        prompt, chosen = Prompt(2600, tuple(range(first, first + 20))), []
        for _ in range(4):
            request = Request(scraper.fleet.timeline.now, prompt, 2, is_chat=is_chat)
            replica = endpoint.submit(Job(request, scraper.fleet.timeline.now))
            assert replica is not None
            chosen.append(replica.name)
            scraper.fleet.advance(10.0)
        return set(chosen)

    scraper = warm(strategy=RoutingStrategy.KVAWARE, requests_per_second=0.4)
    endpoint = scraper.fleet.endpoints["chat"]
    assert len(homes(is_chat=True, first=8_000_000)) == 1
    scraper.run(300.0)
    routed = sum(share(scraper, name, "l0") for name in (A, B)) / 2
    on(scraper, "chat-not-routed", 600.0)
    assert sum(share(scraper, name, "l0") for name in (A, B)) / 2 < routed - 0.05
    requests = [scraper.account(name).ledger.requests or 0 for name in (A, B)]
    assert min(requests) > 0.8 * max(requests)
    assert 'policy="kv_aware"' in scraper.fleet.body("chat", "_fleet", "router")
    assert homes(is_chat=True, first=8_100_000) == {A, B}
    assert len(homes(is_chat=False, first=8_200_000)) == 1
    off(scraper, "chat-not-routed")


CHECKS = by_name(
    hash_seed,
    shared_key_space,
    strategy_not_effective,
    workload_shift,
    eviction_storm,
    chat_not_routed,
)


@pytest.mark.parametrize("name", CHECKS)
def test_shows_what_it_says(name: str) -> None:
    CHECKS[name]()
