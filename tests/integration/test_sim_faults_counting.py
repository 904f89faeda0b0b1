"""Faults of counting and names on the manual clock: what is seen in the scraped text while one is on."""

from __future__ import annotations

import pytest

from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from tests.unit.lab_sim.faulty import WHERE, A, B, by_name, off, on, sample, warm
from tests.unit.lab_sim.scraping import EMBEDDED, MP, Scraper
from tierdeck.account import Answer


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


def figures_go_on(scraper: Scraper, name: str) -> None:
    """With a fault that changes names only, the ledger is what really happened, without a gap or a note."""
    truth = scraper.fleet.endpoints["chat"].replicas[0].truth
    scraper.run(15.0)
    scraper.forget()
    prompt, l0 = truth.prompt_tokens, truth.l0
    scraper.fleet.switch(BY_NAME[name], WHERE, on=True)
    scraper.run(120.0)
    tiers = scraper.tiers(A)
    assert (tiers.prompt_tokens.value, tiers.l0.value) == (truth.prompt_tokens - prompt, truth.l0 - l0)
    assert scraper.codes(A) <= {"split_estimated"}


def names_respelled() -> None:
    scraper = warm()
    figures_go_on(scraper, "names-respelled")
    text = scraper.text(A, "vllm")
    assert 'vllm_prefix_cache_hits{engine="0",model_name="m"}' in text
    assert "vllm:" not in text


def both_names() -> None:
    scraper = warm()
    figures_go_on(scraper, "both-names")
    text = scraper.text(A, "vllm")
    assert sample(text, "vllm:gpu_prefix_cache_hits_total") == 0
    assert sample(text, "vllm:prefix_cache_hits_total") > 0
    assert 'vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"} 0.0' in text


def external_counted_twice() -> None:
    scraper = warm()
    on(scraper, "external-counted-twice")
    assert "external_mismatch" in scraper.codes(A)
    assert "external_mismatch" not in scraper.codes(B)
    tiers = scraper.tiers(A)
    assert tiers.l0.value
    assert tiers.miss.value is None
    assert tiers.by_token.value is None
    off(scraper, "external-counted-twice")


def hits_not_updated() -> None:
    scraper = warm()
    truth = scraper.fleet.endpoints["chat"].replicas[0].truth
    on(scraper, "hits-not-updated", 0.0)
    scraper.forget()
    l0, l1, l2, miss = truth.l0, truth.l1, truth.l2, truth.miss
    device = sample(scraper.text(A, "vllm"), DEVICE)
    scraper.run(120.0)
    tiers = scraper.tiers(A)
    assert tiers.l0.value == 0
    assert tiers.lower.value == truth.l1 - l1 + truth.l2 - l2
    assert tiers.miss.value == truth.miss - miss + truth.l0 - l0
    assert sample(scraper.text(A, "vllm"), DEVICE) > device
    assert scraper.codes(A) >= {"found_not_loaded", "not_wired"}


DEVICE = 'vllm:prompt_tokens_cached_by_source_total{engine="0",model_name="m",source="device"}'


def hits_without_lookups() -> None:
    scraper = warm()
    scraper.fleet.switch(BY_NAME["hits-without-lookups"], WHERE, on=True)
    scraper.run(45.0)
    scraper.forget()
    scraper.run(120.0)
    tiers = scraper.tiers(A)
    assert tiers.l0.value == scraper.account(A).ledger.l0_hits
    assert tiers.l0.value
    assert tiers.prompt_tokens.value is None
    assert "not exported by this engine" in tiers.prompt_tokens.reason
    assert tiers.by_token.value is None
    off(scraper, "hits-without-lookups")
    scraper.run(60.0)
    scraper.forget()
    scraper.run(60.0)
    assert scraper.tiers(A).by_token.value


def retrieval_not_counted() -> None:
    scraper = warm(forms=(MP, EMBEDDED))
    target = FaultTarget("chat", B)
    truth = scraper.fleet.endpoints["chat"].replicas[1].truth
    scraper.fleet.switch(BY_NAME["retrieval-not-counted"], target, on=True)
    scraper.run(45.0)  # the pod starts anew with that build
    scraper.forget()
    l0, lower = truth.l0, truth.l1 + truth.l2
    scraper.run(120.0)
    page = scraper.text(B, "lmcache")
    assert sample(page, "lmcache:num_lookup_hits_total") > 0
    assert sample(page, "lmcache:num_hit_tokens_total") == sample(page, "lmcache:num_vllm_hit_tokens_total") == 0
    tiers = scraper.tiers(B)
    assert (tiers.l0.value, tiers.lower.value) == (truth.l0 - l0, truth.l1 + truth.l2 - lower)
    assert tiers.found_not_loaded.value == 0


def ttft_undercounted() -> None:
    scraper = warm()
    on(scraper, "ttft-undercounted", 300.0)
    account = scraper.account(A)
    assert account.ttft is not None
    assert account.ledger.requests
    assert account.ttft.count == pytest.approx(account.ledger.requests / 2, rel=0.1)
    assert "counters_disagree" in scraper.codes(A)
    assert "counters_disagree" not in scraper.codes(B)


def ttft_off_scale() -> None:
    scraper = warm()
    on(scraper, "ttft-off-scale", 180.0)
    scraper.forget()
    scraper.run(60.0)
    ttft = scraper.account(A).ttft
    assert ttft is not None
    assert ttft.quantile(0.5).at_least == 10.0
    assert ttft.sum / ttft.count > 30
    other = scraper.account(B).ttft
    assert other is not None
    assert other.quantile(0.5).value
    off(scraper, "ttft-off-scale")


CHECKS = by_name(
    metric_rename,
    external_double_counted,
    counter_not_wired,
    no_engine_metrics,
    names_respelled,
    both_names,
    external_counted_twice,
    hits_not_updated,
    hits_without_lookups,
    retrieval_not_counted,
    ttft_undercounted,
    ttft_off_scale,
)


@pytest.mark.parametrize("name", CHECKS)
def test_shows_what_it_says(name: str) -> None:
    CHECKS[name]()
