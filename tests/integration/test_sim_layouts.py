"""The fleets of unusual layout: what their pages say, accounted, against what really happened."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from collectors.body import interpret
from collectors.config import read_config
from collectors.sources import BY_KIND
from collectors.sources.vllm import VLLM
from lab.deck_config import write_atomically
from lab.replay import path_of
from lab.sim.engine import SimReplica
from lab.sim.fleet import Fleet
from lab.sim.inventory import sim_config
from lab.sim.job import Job
from lab.sim.layouts import layouts
from lab.sim.workload import Request
from lab.sim.workloads.tenants import salted
from tests.unit.lab_sim.scraping import BEGAN_AT, EMBEDDED, MP, Scraper, fleet
from tierdeck.fleet import Role, SourceKind
from tierdeck.sizing.prompt import Prompt


@cache
def scraped() -> Scraper:
    """Ten minutes of all four endpoints; nobody may change it."""
    scraper = Scraper(Fleet(layouts(), 1, BEGAN_AT))
    scraper.run(600.0)
    return scraper


def sample(page: str, name: str) -> float:
    return next(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(f"{name} "))


def replica(name: str) -> SimReplica:
    return scraped().fleet.endpoints[name.partition("-")[0]].replica(name)


def test_every_layout_is_accounted_token_for_token() -> None:
    for endpoint in scraped().fleet.endpoints.values():
        for each in endpoint.replicas:
            tiers, truth = scraped().tiers(each.name), each.truth
            assert truth.requests > 50, each.name
            assert (tiers.prompt_tokens.value, tiers.l0.value) == (truth.prompt_tokens, truth.l0)
            if each.form is MP:
                assert (tiers.lower.value, tiers.miss.value) == (truth.l1 + truth.l2, truth.miss)


def test_what_a_decode_replica_gets_is_transfer_and_no_hit() -> None:
    (decode,) = (each for each in scraped().fleet.endpoints["apart"].replicas if each.role is Role.CONSUMER)
    tiers = scraped().tiers(decode.name)
    assert tiers.transfer is not None
    assert tiers.transfer.value == decode.truth.transferred > 0
    assert tiers.lower.value == 0
    # all but the last token of each prompt is there: by external hits alone it would be a cache without misses
    assert tiers.miss.value == decode.truth.requests
    assert tiers.by_token.value == decode.truth.l0 / decode.truth.prompt_tokens


def test_each_half_s_ttft_is_less_than_what_the_user_waits() -> None:
    endpoint = scraped().fleet.endpoints["apart"]
    means = {}
    for each in endpoint.replicas:
        ttft = scraped().account(each.name).ttft
        assert ttft is not None
        means[each.role] = ttft.sum / ttft.count
    # decode alone: 10 ms for the transfer, 3 µs a token, 8 ms of a step
    assert means[Role.CONSUMER] < 0.1 < means[Role.PRODUCER]
    page = scraped().fleet.body("apart", "_fleet", "router")
    total, count = (sample(page, f"vllm_router_generate_duration_seconds_{end}") for end in ("sum", "count"))
    assert total / count > means[Role.CONSUMER] + means[Role.PRODUCER]


def test_the_configuration_file_says_which_part_a_replica_has(tmp_path: Path) -> None:
    simulated = scraped().fleet
    document = sim_config(simulated, lambda *names: "http://127.0.0.1:1" + path_of(*names))
    write_atomically(tmp_path / "deck.yaml", document)
    found = {each.key.replica: each for each in read_config(tmp_path / "deck.yaml", "c").endpoints[0].replicas}
    roles = [found[f"apart-{number}"].role for number in range(3)]
    assert roles == [Role.PRODUCER, Role.PRODUCER, Role.CONSUMER]
    assert [target.name for target in found["apart-2"].targets] == ["vllm"]


def test_ranks_have_series_of_their_own_and_an_l0_of_their_own() -> None:
    text = scraped().text("parallel-0", "vllm")
    reading = VLLM.read(text)
    assert reading is not None
    by_engine = {key.engine: value for key, value in reading.counters.items() if key.reading == "prompt_tokens"}
    assert sorted(by_engine) == ["0", "1", "2", "3"]
    assert min(by_engine.values()) > 0
    assert sum(by_engine.values()) == replica("parallel-0").truth.prompt_tokens
    # 2 GiB hold 585 blocks of 64 tokens of 57,344 bytes, on each of the four
    assert scraped().account("parallel-0").gauges.kv_capacity_tokens == 4 * 585 * 64


def test_a_router_that_copies_the_last_engine_s_gauges_is_not_counted() -> None:
    text = scraped().fleet.body("parallel", "_fleet", "router")
    copied = next(line for line in text.splitlines() if line.startswith("vllm:gpu_prefix_cache_queries_total{server="))
    tokens = float(copied.rpartition(" ")[2])
    assert 0 < tokens < 0.5 * replica("parallel-0").truth.prompt_tokens
    reading, _ = interpret(BY_KIND[SourceKind.ROUTER], text)
    assert reading is not None
    assert reading.router_series > 0
    assert not reading.counters


def test_lookups_are_told_by_tenant_and_nobody_finds_another_s_text() -> None:
    assert set(scraped().last("tenants-0").salts) == {"search", "support", "trial"}
    simulated = Fleet(layouts(), 1, BEGAN_AT)
    endpoint, found = simulated.endpoints["tenants"], []
    for salt in ("search", "trial", "search"):
        request = salted(Request(0.0, Prompt(2561, tuple(range(40))), 1), salt)
        job = Job(request, simulated.timeline.now)
        endpoint.send(job, endpoint.replicas[0])
        simulated.advance(20.0)
        assert job.lookup is not None
        found.append(job.lookup.l0 + job.lookup.external)
    # 2,561 tokens are 40 blocks of 64 and one token, which is computed
    assert found == [0, 0, 2560]


def test_an_engine_of_before_exports_two_generations_of_names_of_which_one_is_read() -> None:
    text = scraped().text("older-0", "vllm")
    for name in ("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"):
        assert f'{name}{{engine="0",model_name="qwen2-7b-older"}}' in text
    assert "external_prefix_cache" not in text
    assert "renamed" not in scraped().codes("older-0")


def test_what_an_engine_of_before_does_not_export_is_unknown_with_its_reason() -> None:
    tiers = scraped().tiers("older-0")
    for figure in (tiers.lower, tiers.miss, tiers.l1.figure, tiers.l2.figure):
        assert figure.value is None
        assert "not exported by this engine" in figure.reason


def test_a_cache_server_s_page_before_its_first_request_is_read_as_such() -> None:
    scraper = Scraper(fleet(requests_per_second=1e-6, forms=(MP, EMBEDDED)))
    scraper.run(30.0)
    assert "lmcache_mp_lookup_requested" not in scraper.text("chat-0", "lmcache-mp")
    reading, reason = interpret(BY_KIND[SourceKind.LMCACHE_MP], scraper.text("chat-0", "lmcache-mp"))
    assert (reading is not None, reason) == (True, "")
    assert scraper.tiers("chat-0").l2.figure.value == 0


@pytest.mark.parametrize(("promotes", "kept"), [(False, 0), (True, 8)])
def test_by_default_l1_does_not_keep_what_came_from_l2(promotes: bool, kept: int) -> None:
    # 2,048 tokens are 8 chunks of 256; chat-0 computes them, chat-1 loads them from L2
    simulated = fleet(requests_per_second=1e-6, promotes=promotes)
    for each in simulated.endpoints["chat"].replicas:
        request = Request(simulated.timeline.now, Prompt(2050, tuple(range(16))), 2)
        simulated.endpoints["chat"].send(Job(request, simulated.timeline.now), each)
        simulated.advance(10.0)
    second = simulated.endpoints["chat"].replicas[1]
    assert second.truth.l2 == 2048
    assert len(second.cache.l1) == kept
    page = simulated.body("chat", "chat-1", "lmcache-mp")
    assert ("lmcache_mp_l1_evicted_chunks_total{" in page) is not promotes
