"""An hour of every workload under every strategy: the ledger of the scraped text against what really happened."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from lab.sim.engine import SimReplica
from lab.sim.fleet import Fleet
from lab.sim.job import Job
from lab.sim.scale import small
from lab.sim.spec import FleetSpec
from lab.sim.workload import Request, Workload
from lab.sim.workloads import BY_NAME
from lab.sim.workloads.mooncake import Mooncake, read_trace
from tests.unit.lab_sim.scraping import BEGAN_AT, EMBEDDED, MP, Scraper, fleet
from tierdeck.figure import Bounded
from tierdeck.routing import RoutingStrategy
from tierdeck.sizing.prompt import Prompt
from tierdeck.split import TierSplit

HOUR = 3600.0


def trace(folder: Path) -> Path:
    """Conversations in Mooncake's format: prompts that go on where earlier ones ended."""
    random, path, next_id = Random(7), folder / "trace.jsonl.gz", 100
    histories: list[list[int]] = []
    with gzip.open(path, "wt") as file:
        for turn in range(2000):
            history = random.choice(histories) if histories and random.random() < 0.6 else [0, 1]
            grown = [*history, *range(next_id, next_id + random.randint(1, 8))]
            next_id += 10
            histories = [*histories[-60:], grown]
            tokens = 512 * len(grown) - random.randint(0, 511)
            line = {"timestamp": turn * 900, "input_length": tokens, "output_length": 80, "hash_ids": grown}
            file.write(json.dumps(line) + "\n")
    return path


@pytest.fixture(scope="module")
def workloads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Workload]:
    return {**BY_NAME, "mooncake": Mooncake(read_trace(trace(tmp_path_factory.mktemp("trace"))), most_tokens=12_000)}


@pytest.mark.parametrize("strategy", RoutingStrategy)
@pytest.mark.parametrize("name", [*BY_NAME, "mooncake"])
def test_an_hour_is_accounted_token_for_token(
    name: str, strategy: RoutingStrategy, workloads: dict[str, Workload]
) -> None:
    simulated = fleet(strategy=strategy, forms=(MP, EMBEDDED), requests_per_second=0.25)
    simulated.play("chat", workloads[name])
    scraper = Scraper(simulated)
    scraper.run(HOUR)
    replicas = simulated.endpoints["chat"].replicas
    assert sum(replica.truth.requests for replica in replicas) > 500
    for replica in replicas:  # with little traffic prefixaware may leave one of them nearly idle
        compare(scraper.tiers(replica.name), replica)


def compare(tiers: TierSplit, replica: SimReplica) -> None:
    truth = replica.truth
    assert tiers.prompt_tokens.value == truth.prompt_tokens
    assert tiers.l0.value == truth.l0
    assert tiers.lower.value == truth.l1 + truth.l2
    assert tiers.miss.value == truth.miss
    assert within(truth.l1, tiers.l1)
    assert within(truth.l2, tiers.l2)
    if replica.form is MP and not truth.overlapped:
        assert (tiers.l1.figure.value, tiers.l2.figure.value) == (truth.l1, truth.l2)


def within(tokens: int, figure: Bounded) -> bool:
    assert figure.low.value is not None
    assert figure.high.value is not None
    return figure.low.value <= tokens <= figure.high.value


def test_where_no_l0_hit_overlaps_the_tiers_are_exact() -> None:
    # Two prompts of 60 blocks and a tail take turns in an L0 of 61: each finds nothing of itself there.
    # L1 keeps 20 chunks; 30 chunks each are in L2, less what is in L1.
    simulated = fleet(forms=(MP,), requests_per_second=1e-6, l0_bytes=61 * 128 * 57_344, l1_bytes=20 * 256 * 57_344)
    scraper, endpoint = Scraper(simulated), simulated.endpoints["chat"]
    for turn in range(20):
        blocks = tuple(range(1000 * (turn % 2 + 1), 1000 * (turn % 2 + 1) + 60))
        request = Request(simulated.timeline.now, Prompt(60 * 128 + 50, blocks), answer_tokens=10)
        endpoint.submit(Job(request, simulated.timeline.now))
        scraper.run(15.0)
    (replica,) = endpoint.replicas
    tiers, truth = scraper.tiers(replica.name), replica.truth
    assert truth.overlapped == 0
    assert min(truth.l1, truth.l2) > 0
    assert (tiers.l1.figure.value, tiers.l2.figure.value) == (truth.l1, truth.l2)


def test_a_restart_costs_no_more_than_what_came_since_the_last_scrape() -> None:
    simulated = fleet(requests_per_second=0.7)
    scraper = Scraper(simulated)
    first = simulated.endpoints["chat"].replicas[0]
    allowed = 0
    for pause in (300.0, 450.0, 600.0):
        scraper.run(pause)
        before = first.truth.prompt_tokens
        simulated.advance(11.0)
        allowed += first.truth.prompt_tokens - before
        first.restart()
        simulated.advance(4.0)
        scraper.round()
    scraper.run(300.0)
    tiers = scraper.tiers(first.name)
    assert tiers.prompt_tokens.value is not None
    assert scraper.account(first.name).ledger.restarts == first.truth.restarts == 3
    assert 0 <= first.truth.prompt_tokens - tiers.prompt_tokens.value <= allowed
    assert allowed > 0
    for figure, truth in ((tiers.l0, first.truth.l0), (tiers.miss, first.truth.miss)):
        assert figure.value is not None
        assert 0 <= truth - figure.value <= allowed


def test_same_seed_same_hour_and_another_seed_another() -> None:
    def texts(seed: int) -> list[str]:
        simulated = fleet(seed=seed)
        simulated.advance(600.0)
        return [simulated.body(*target) for target in simulated.targets()]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_prefixaware_raises_the_l0_share_by_ten_points_over_roundrobin() -> None:
    # the default fleet; at --speed 10 the ten minutes after the switch are one
    simulated = Fleet(FleetSpec(small().endpoints[:1], small().worker_bytes), 1, BEGAN_AT)
    scraper = Scraper(simulated)
    scraper.run(600.0)
    shares = []
    for strategy, seconds in ((RoutingStrategy.ROUNDROBIN, 300.0), (RoutingStrategy.PREFIXAWARE, 600.0)):
        simulated.endpoints["chat"].set_strategy(strategy)
        scraper.forget()
        scraper.run(seconds)
        parts = [scraper.tiers(replica.name) for replica in simulated.endpoints["chat"].replicas]
        shares.append(sum(part.l0.value or 0 for part in parts) / sum(part.prompt_tokens.value or 1 for part in parts))
    assert shares[1] - shares[0] >= 0.10
