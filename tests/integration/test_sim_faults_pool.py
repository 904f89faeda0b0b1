"""Faults of pool on the manual clock: what is seen in the scraped text while one is on, and that it goes."""

from __future__ import annotations

import pytest

from collectors.body import interpret
from collectors.pool import mounts_of
from collectors.sources import BY_KIND
from lab.sim.faults import BY_NAME
from lab.sim.fleet import NoAnswerError
from tests.unit.lab_sim.faulty import WHERE, A, B, by_name, gauge, off, on, sample, share, warm
from tests.unit.lab_sim.scraping import Scraper
from tierdeck.fleet import FLEET, SourceKind
from tierdeck.l2.mounts import Mount
from tierdeck.readings import Reading


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


def trouble_of_mount(scraper: Scraper) -> str:
    """What a FUSE client's page tells of its mount, as the injector judges it."""
    name = f"{SourceKind.CURVINE_FUSE}.{A}"
    reading, _ = interpret(BY_KIND[SourceKind.CURVINE_FUSE], scraper.fleet.body("curvine", "_fleet", name))
    assert reading is not None
    at = scraper.fleet.timeline.wall()
    (page,) = mounts_of({name: SourceKind.CURVINE_FUSE}, {name: reading}, at)
    return Mount("curvine", name, page, at).trouble(at, 45.0)


def fuse_hang() -> None:
    scraper = warm()
    assert trouble_of_mount(scraper) == ""
    on(scraper, "fuse-hang", 300.0)
    assert "its mount hangs" in trouble_of_mount(scraper)
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
    assert trouble_of_mount(scraper) == ""
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


def l2_write_only() -> None:
    scraper = warm()
    on(scraper, "l2-write-only", 300.0)
    ledger = scraper.account(A).ledger
    assert ledger.stores_completed
    assert ledger.stores_completed > 50
    assert (ledger.l2_found, share(scraper, A, "l2")) == (0, 0)
    assert sample(scraper.text(A, "lmcache-mp"), "lmcache_mp_l2_prefetch_lookup_requests_total") > 0
    assert scraper.codes(A) <= {"split_estimated"}
    off(scraper, "l2-write-only")
    scraper.forget()
    scraper.run(120.0)
    assert share(scraper, A, "l2") > 0


def coordinator_drift() -> None:
    def directory() -> float:
        text = scraper.fleet.body("chat", FLEET, "lmcache-coordinator")
        reading, _ = interpret(BY_KIND[SourceKind.LMCACHE_COORDINATOR], text)
        assert reading is not None
        return reading.gauge(Reading.DIRECTORY_BYTES) or 0

    scraper = warm()
    used = gauge(scraper, "curvine-master", Reading.POOL_USED)
    assert directory() == used
    scraper.fleet.switch(BY_NAME["coordinator-drift"], WHERE, on=True)
    # a fifth of the chunks went, and nobody told the coordinator
    assert directory() == used
    assert gauge(scraper, "curvine-master", Reading.POOL_USED) == pytest.approx(0.8 * (used or 0), rel=0.01)
    off(scraper, "coordinator-drift")
    assert directory() == gauge(scraper, "curvine-master", Reading.POOL_USED)


def quota_conflict() -> None:
    scraper = warm(tenants=(("search", 0.5), ("trial", 0.5)))
    on(scraper, "quota-conflict", 300.0)
    found = {"search": [0.0, 0.0], "trial": [0.0, 0.0]}
    for name in (A, B):
        for part in scraper.rounds(name):
            for salt, counts in part.salts.items():
                found[salt][0] += counts.l1_found + counts.l2_found
                found[salt][1] += counts.lookup_tokens
    shares = {salt: hits / tokens for salt, (hits, tokens) in found.items()}
    assert shares["trial"] < 0.1
    assert shares["search"] > 0.4
    assert sample(scraper.text(A, "lmcache-mp"), "lmcache_mp_l2_evicted_objects_chunks_total") > 10
    assert scraper.fleet.pool.chunks.used_bytes < scraper.fleet.pool.capacity_bytes
    assert scraper.fleet.pool.chunks.used_bytes == sum(worker.used_bytes for worker in scraper.fleet.pool.workers)
    off(scraper, "quota-conflict")


CHECKS = by_name(
    worker_loss,
    l2_unreadable,
    fuse_hang,
    full_pool,
    l2_writes_lost,
    master_stall,
    fuse_metrics_error,
    l2_write_only,
    coordinator_drift,
    quota_conflict,
)


@pytest.mark.parametrize("name", CHECKS)
def test_shows_what_it_says(name: str) -> None:
    CHECKS[name]()
