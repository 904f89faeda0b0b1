"""Faults of processes on the manual clock: what is seen in the scraped text while one is on, and that it goes."""

from __future__ import annotations

import pytest

from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from lab.sim.fleet import NoAnswerError
from tests.unit.lab_sim.faulty import WHERE, A, B, by_name, off, on, sample, share, warm
from tests.unit.lab_sim.scraping import EMBEDDED, MP, OLDER
from tierdeck.account import Answer
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET


def replica_restart() -> None:
    scraper = warm()
    scraper.fleet.switch(BY_NAME["replica-restart"], WHERE, on=True)
    scraper.run(15.0)
    assert scraper.last(A).answer is Answer.NOTHING
    scraper.run(45.0)
    assert scraper.account(A).ledger.restarts == 1
    assert "restarted" in scraper.codes(A)


def cache_server_frozen() -> None:
    scraper = warm()
    on(scraper, "cache-server-frozen", 120.0)
    with pytest.raises(NoAnswerError) as silent:
        scraper.text(A, "lmcache-mp")
    assert silent.value.hangs
    assert share(scraper, A, "lower") == 0
    assert share(scraper, A, "miss") > 0
    assert scraper.tiers(A).prompt_tokens.value
    off(scraper, "cache-server-frozen")
    scraper.run(300.0)
    scraper.forget()
    scraper.run(120.0)
    assert share(scraper, A, "lower") > 0


def cache_server_gone() -> None:
    scraper = warm()
    on(scraper, "cache-server-gone", 120.0)
    assert scraper.tiers(A).prompt_tokens.value == 0
    text = scraper.text(A, "vllm")
    waiting = sample(text, "vllm:num_requests_waiting{")
    assert waiting > 0
    assert sample(text, 'vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="deferred"}') == waiting
    assert sample(text, "vllm:num_requests_running{") == 0
    scraper.run(240.0)
    assert scraper.account(A).ledger.restarts == 1


def slow_scrape() -> None:
    scraper = warm()
    scraper.fleet.switch(BY_NAME["slow-scrape"], WHERE, on=True)
    assert scraper.fleet.delay_seconds(("chat", A, "vllm")) == 12.0
    assert scraper.fleet.delay_seconds(("chat", A, "lmcache-mp")) == 0.0
    assert scraper.fleet.delay_seconds(("chat", B, "vllm")) == 0.0


def l0_wiped() -> None:
    scraper = warm()
    on(scraper, "l0-wiped", 300.0)
    assert share(scraper, A, "l0") < 0.5 * share(scraper, B, "l0")
    assert not scraper.account(A).ledger.restarts


def node_replaced() -> None:
    scraper = warm()
    capacity = scraper.fleet.pool.capacity_bytes
    scraper.fleet.switch(BY_NAME["node-replaced"], WHERE, on=True)
    scraper.run(15.0)
    assert scraper.fleet.pool.capacity_bytes == capacity / 2
    scraper.run(105.0)
    assert [replica.name for replica in scraper.fleet.endpoints["chat"].replicas] == ["chat-2", B]
    assert scraper.last(A).answer is Answer.NOTHING
    new = scraper.fleet.endpoints["chat"].replicas[0].truth
    # both lives count: what the old pod served before, and the new one's from 0 on
    assert scraper.tiers("chat-2").prompt_tokens.value == new.prompt_tokens > 0
    assert (scraper.tiers(A).prompt_tokens.value or 0) >= 0
    assert "counter_reset" not in scraper.codes("chat-2")
    assert scraper.fleet.pool.capacity_bytes == capacity


def eviction_crash() -> None:
    scraper = warm()
    before = scraper.fleet.pool.chunks.used_bytes
    evicted = sample(scraper.text(B, "lmcache-mp"), "lmcache_mp_l2_evicted_objects_chunks_total")
    scraper.fleet.switch(BY_NAME["eviction-crash"], WHERE, on=True)
    assert scraper.fleet.pool.chunks.used_bytes < 0.5 * before
    assert sample(scraper.text(B, "lmcache-mp"), "lmcache_mp_l2_evicted_objects_chunks_total") > evicted
    scraper.run(15.0)
    assert scraper.last(A).answer is Answer.NOTHING
    scraper.run(45.0)
    assert "restarted" in scraper.codes(A)
    assert "restarted" not in scraper.codes(B)


def preemptions() -> None:
    scraper = warm(forms=(MP, OLDER))
    older = FaultTarget("chat", B)
    for target, name in ((WHERE, A), (older, B)):
        truth = scraper.fleet.endpoints["chat"].replica(name).truth
        scraper.fleet.switch(BY_NAME["preemptions"], target, on=True)
        scraper.forget()
        before = truth.prompt_tokens
        scraper.run(180.0)
        assert sample(scraper.text(name, "vllm"), "vllm:num_preemptions_total") > 10
        counted, served = scraper.tiers(name).prompt_tokens.value or 0, truth.prompt_tokens - before
        if name == A:
            assert counted == served
            assert "preempted" not in scraper.codes(A)
            assert sample(scraper.text(A, "vllm"), "vllm:request_num_preemptions_sum") > 10
        else:
            assert counted > 1.1 * served
            assert "preempted" in scraper.codes(B)
        scraper.fleet.switch(BY_NAME["preemptions"], target, on=False)


def embedded_init_failed() -> None:
    scraper = warm(forms=(MP, EMBEDDED))
    with pytest.raises(UsageError, match="no LMCache inside vLLM") as refused:
        scraper.fleet.switch(BY_NAME["embedded-init-failed"], WHERE, on=True)
    assert B in refused.value.hint
    target = FaultTarget("chat", B)
    scraper.fleet.switch(BY_NAME["embedded-init-failed"], target, on=True)
    scraper.run(60.0)
    scraper.forget()
    scraper.run(120.0)
    assert share(scraper, B, "lower") == 0
    assert share(scraper, B, "miss") > 0
    text = scraper.text(B, "vllm")
    assert sample(text, "vllm:external_prefix_cache_queries_total") > 0
    ttft = scraper.account(B).ttft
    assert ttft is not None
    assert ttft.sum / ttft.count > 3
    page = scraper.text(B, "lmcache")
    assert "# TYPE lmcache:lmcache_is_healthy gauge" in page
    assert sample(page, "lmcache:lmcache_is_healthy") == 0
    assert "lmcache:num_lookup_tokens" not in page
    assert not any(scrape.reason == "" for scrape in scraper.last(B).scrapes if scrape.target.name == "lmcache")
    off(scraper, "embedded-init-failed")
    scraper.run(300.0)
    scraper.forget()
    scraper.run(120.0)
    assert share(scraper, B, "lower") > 0


def cache_metrics_pushed() -> None:
    scraper = warm()
    on(scraper, "cache-metrics-pushed")
    with pytest.raises(NoAnswerError) as missing:
        scraper.text(A, "lmcache-mp")
    assert (missing.value.status, missing.value.hangs) == (404, False)
    tiers = scraper.tiers(A)
    assert tiers.lower.value
    assert tiers.l1.figure.value is None
    assert "unsplit" in scraper.codes(A)
    assert tiers.found_not_loaded.value is None
    assert "unsplit" not in scraper.codes(B)


def router_down() -> None:
    scraper = warm()
    on(scraper, "router-down")
    with pytest.raises(NoAnswerError):
        scraper.fleet.body("chat", FLEET, "router")
    assert [scraper.tiers(name).prompt_tokens.value for name in (A, B)] == [0, 0]
    assert scraper.last(A).answer is Answer.ENGINE
    off(scraper, "router-down")
    scraper.run(60.0)
    assert scraper.tiers(A).prompt_tokens.value


CHECKS = by_name(
    replica_restart,
    cache_server_frozen,
    cache_server_gone,
    slow_scrape,
    l0_wiped,
    node_replaced,
    eviction_crash,
    preemptions,
    embedded_init_failed,
    cache_metrics_pushed,
    router_down,
)


@pytest.mark.parametrize("name", CHECKS)
def test_shows_what_it_says(name: str) -> None:
    CHECKS[name]()
