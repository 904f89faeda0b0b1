"""Every fault on the manual clock: what is seen in the scraped text while it is on, and that it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from collectors.body import interpret
from collectors.sources import BY_KIND
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME, FAULTS
from lab.sim.fleet import Fleet, NoAnswerError
from lab.sim.spec import FleetSpec
from tests.unit.lab_sim.scraping import BEGAN_AT, ENDPOINT, Scraper, fleet
from tierdeck.account import Answer
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt

A, B = "chat-0", "chat-1"
WHERE = FaultTarget("chat")


def warm(**changes: Any) -> Scraper:
    """Ten minutes of chat under roundrobin: all tiers in play."""
    scraper = Scraper(fleet(**changes))
    scraper.run(600.0)
    scraper.forget()
    return scraper


def on(scraper: Scraper, name: str, seconds: float = 120.0, target: FaultTarget = WHERE) -> None:
    scraper.fleet.switch(BY_NAME[name], target, on=True)
    scraper.run(15.0)
    scraper.forget()
    scraper.run(seconds)


def off(scraper: Scraper, name: str) -> None:
    scraper.fleet.switch(BY_NAME[name], WHERE, on=False)
    assert not scraper.fleet.faults


def gauge(scraper: Scraper, source: str, reading: Reading) -> float | None:
    found, _ = interpret(BY_KIND[SourceKind(source.partition(".")[0])], scraper.fleet.body("curvine", "_fleet", source))
    assert found is not None
    return found.gauge(reading)


def share(scraper: Scraper, name: str, tier: str) -> float:
    tiers = scraper.tiers(name)
    tokens = {"l0": tiers.l0, "lower": tiers.lower, "l2": tiers.l2.figure, "miss": tiers.miss}[tier].value
    assert tokens is not None
    assert tiers.prompt_tokens.value
    return tokens / tiers.prompt_tokens.value


def sample(text: str, start: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(start))


def replica_restart() -> None:
    scraper = warm()
    scraper.fleet.switch(BY_NAME["replica-restart"], WHERE, on=True)
    scraper.run(15.0)
    assert scraper.last(A).answer is Answer.NOTHING
    scraper.run(45.0)
    assert scraper.account(A).ledger.restarts == 1
    assert "restarted" in scraper.codes(A)


def worker_loss() -> None:
    scraper = warm()
    capacity = gauge(scraper, "curvine-master", Reading.POOL_CAPACITY)
    on(scraper, "worker-loss", 30.0)
    assert gauge(scraper, "curvine-master", Reading.POOL_CAPACITY) == (capacity or 0) / 2
    assert gauge(scraper, "curvine-master", Reading.WORKERS_BLACKLISTED) == 1
    with pytest.raises(NoAnswerError):
        scraper.fleet.body("curvine", "_fleet", "curvine-worker.0")
    scraper.run(600.0)
    assert gauge(scraper, "curvine-master", Reading.WORKERS_LOST) == 1
    assert gauge(scraper, "curvine-master-api", Reading.WORKERS_LOST) == 1
    off(scraper, "worker-loss")
    assert gauge(scraper, "curvine-master", Reading.WORKERS_LIVE) == 2


def l2_unreadable() -> None:
    scraper = warm()
    before = scraper.fleet.endpoints["chat"].replicas[0].truth.l2
    on(scraper, "l2-unreadable")
    assert scraper.fleet.endpoints["chat"].replicas[0].truth.l2 >= before
    assert "found_not_loaded" in scraper.codes(A)
    assert (scraper.tiers(A).found_not_loaded.value or 0) > 0


def fuse_hang() -> None:
    scraper = warm()
    on(scraper, "fuse-hang", 300.0)
    assert share(scraper, A, "l2") == 0
    text = scraper.fleet.body("curvine", "_fleet", f"curvine-fuse.{A}")
    assert sample(text, "curvine_fuse_reply_queue_depth") > 0
    assert sample(text, "curvine_fuse_kernel_fd_health") == 1
    senders = sample(text, "curvine_fuse_sender_last_progress_unixtime") / 4
    assert scraper.fleet.timeline.wall() - senders > 200
    page = scraper.text(A, "lmcache-mp")
    submitted, ended = (f"lmcache_mp_l2_store_{what}_requests_total" for what in ("submitted", "completed"))
    assert sample(page, submitted) > sample(page, ended) + 2
    off(scraper, "fuse-hang")
    assert sample(scraper.fleet.body("curvine", "_fleet", f"curvine-fuse.{A}"), "curvine_fuse_reply_queue") == 0


def full_pool() -> None:
    scraper = warm()
    on(scraper, "full-pool", 300.0)
    assert gauge(scraper, "curvine-master", Reading.POOL_AVAILABLE) == 0
    text = scraper.fleet.body("curvine", "_fleet", f"curvine-fuse.{A}")
    assert sample(text, 'curvine_fuse_errors_total{errno="EIO"') > 0
    assert "stores_incomplete" in scraper.codes(A)
    off(scraper, "full-pool")
    assert (gauge(scraper, "curvine-master", Reading.POOL_AVAILABLE) or 0) > 0


def l2_writes_lost() -> None:
    scraper = warm()
    on(scraper, "l2-writes-lost", 300.0)
    assert "stores_incomplete" in scraper.codes(A)
    text = scraper.text(A, "lmcache-mp")
    ended = sample(text, "lmcache_mp_l2_store_completed_requests_total")
    assert sample(text, "lmcache_mp_l2_store_submitted_requests_total") - ended <= 1
    assert "EIO" not in scraper.fleet.body("curvine", "_fleet", f"curvine-fuse.{A}")


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


def metric_rename() -> None:
    scraper = warm()
    before = scraper.fleet.endpoints["chat"].replicas[0].truth.prompt_tokens
    on(scraper, "metric-rename")
    assert "renamed" in scraper.codes(A)
    assert "renamed" not in scraper.codes(B)
    assert scraper.fleet.endpoints["chat"].replicas[0].truth.prompt_tokens > before


def external_double_counted() -> None:
    scraper = warm()
    on(scraper, "external-double-counted")
    assert "external_double_counted" in scraper.codes(A)
    assert "external_double_counted" not in scraper.codes(B)
    assert scraper.tiers(A).by_token.value is not None


def counter_not_wired() -> None:
    scraper = warm()
    on(scraper, "counter-not-wired")
    assert "not_wired" in scraper.codes(A)
    assert scraper.tiers(A).prompt_tokens.value == 0


def no_engine_metrics() -> None:
    scraper = warm()
    on(scraper, "no-engine-metrics", 30.0)
    assert scraper.last(A).answer is Answer.NO_SERIES
    assert scraper.text(A, "vllm").startswith("# HELP python_gc")


def l0_wiped() -> None:
    scraper = warm()
    on(scraper, "l0-wiped", 300.0)
    assert share(scraper, A, "l0") < 0.5 * share(scraper, B, "l0")
    assert not scraper.account(A).ledger.restarts


def master_stall() -> None:
    scraper = warm()
    on(scraper, "master-stall", 15.0)
    with pytest.raises(NoAnswerError) as silent:
        scraper.fleet.body("curvine", "_fleet", "curvine-master")
    assert silent.value.hangs
    assert gauge(scraper, "curvine-master-api", Reading.WORKERS_LIVE) == 2


def fuse_metrics_error() -> None:
    scraper = warm()
    on(scraper, "fuse-metrics-error", 15.0)
    source = BY_KIND[SourceKind.CURVINE_FUSE]
    reading, reason = interpret(source, scraper.fleet.body("curvine", "_fleet", f"curvine-fuse.{A}"))
    assert reading is None
    assert "error instead of metrics" in reason


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__.replace("_", "-"): check
    for check in (
        replica_restart,
        worker_loss,
        l2_unreadable,
        fuse_hang,
        full_pool,
        l2_writes_lost,
        cache_server_frozen,
        cache_server_gone,
        slow_scrape,
        hash_seed,
        shared_key_space,
        strategy_not_effective,
        workload_shift,
        eviction_storm,
        metric_rename,
        external_double_counted,
        counter_not_wired,
        no_engine_metrics,
        l0_wiped,
        master_stall,
        fuse_metrics_error,
    )
}


@pytest.mark.parametrize("name", [fault.name for fault in FAULTS])
def test_shows_what_it_says(name: str) -> None:
    CHECKS[name]()
