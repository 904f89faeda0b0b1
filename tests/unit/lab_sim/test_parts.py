"""The simulation's parts: time, latency, the pool, and how requests pass through a replica."""

from __future__ import annotations

import pytest

from lab.sim.engine import SimReplica
from lab.sim.fleet import Fleet
from lab.sim.job import Job
from lab.sim.latency import LatencyModel
from lab.sim.pool import Pool
from lab.sim.scale import SCALES
from lab.sim.timeline import Timeline
from lab.sim.workload import Request
from tests.unit.lab_sim.scraping import BEGAN_AT, MP, fleet
from tierdeck.sizing.prompt import Prompt
from tierdeck.sizing.replica import Lookup


def test_events_happen_in_order_and_those_of_one_moment_as_they_were_planned() -> None:
    timeline, seen = Timeline(1000.0, speed=10), []
    for moment, name in ((2.0, "b"), (1.0, "a"), (2.0, "c")):
        timeline.at(moment, lambda name=name: seen.append((name, timeline.now)))  # type: ignore[misc]  # bound per turn
    timeline.run_until(1.5)
    assert (seen, timeline.now) == ([("a", 1.0)], 1.5)
    timeline.run_until(30.0)
    assert [name for name, _ in seen] == ["a", "b", "c"]
    assert timeline.wall() == 1003.0  # 30 simulated seconds at ten times the pace
    with pytest.raises(ValueError, match="above 0"):
        Timeline(0.0, speed=0)


def test_an_l2_hit_pays_from_about_a_thousand_tokens_on() -> None:
    model = LatencyModel()

    def seconds(lookup: Lookup) -> float:
        return model.load_seconds(lookup) + model.prefill_seconds(lookup)

    # 500 tokens: 200 ms + 14.5 ms against 155 ms; 2,500: 272.5 ms against 775 ms
    assert seconds(Lookup(500, l2=499)) > seconds(Lookup(500))
    assert seconds(Lookup(1000, l2=999)) < seconds(Lookup(1000))
    assert seconds(Lookup(2500)) / seconds(Lookup(2500, l2=2499)) == pytest.approx(2.8, abs=0.1)
    assert model.load_seconds(Lookup(500, l1=400)) == pytest.approx(0.0046)


def test_the_pool_fills_its_workers_evenly_and_loses_what_a_worker_held() -> None:
    pool = Pool([100, 100], 0.0)
    assert pool.write([1, 2, 3, 4], 20) == 4
    assert [worker.used_bytes for worker in pool.workers] == [40, 40]
    pool.lose(0)
    assert pool.capacity_bytes == 100
    assert len(pool.chunks) == 2
    pool.return_worker(0, 5.0)
    assert (pool.capacity_bytes, pool.workers[0].used_bytes, pool.workers[0].started_at) == (200, 0, 5.0)
    assert pool.write(list(range(10, 20)), 20) == 10
    assert pool.evicted_chunks == 2
    assert pool.chunks.used_bytes == sum(worker.used_bytes for worker in pool.workers) == 200
    assert pool.read([19, 999]) == 20
    pool.resize(100)
    assert pool.chunks.used_bytes <= 100


def test_a_pool_that_evicts_nothing_refuses() -> None:
    pool = Pool([40], 0.0, evicting=False)
    assert pool.write([1, 2, 3], 20) == 2
    assert pool.refused_chunks == 1


def submit(simulated: Fleet, replica: SimReplica, tokens: int, first: int) -> Job:
    job = Job(
        Request(simulated.timeline.now, Prompt(tokens, tuple(range(first, first + tokens // 128))), 11),
        simulated.timeline.now,
    )
    simulated.endpoints["chat"].send(job, replica)
    return job


def test_requests_queue_for_the_prefill_and_decode_side_by_side() -> None:
    # two prompts of 1,000 tokens at once: the second waits 8 + 310 ms for the first
    simulated = fleet(requests_per_second=1e-6)
    replica = simulated.endpoints["chat"].replicas[0]
    jobs = [submit(simulated, replica, 1000, first) for first in (100, 200)]
    simulated.advance(0.4)
    assert (replica.gauges()[0].running, replica.gauges()[0].waiting) == (2, 0)
    simulated.advance(0.4)
    assert jobs[0].first_token == pytest.approx(0.318)
    assert jobs[1].started == pytest.approx(0.318)
    assert jobs[1].first_token == pytest.approx(0.636)
    assert replica.outstanding == 1  # the first ended at 0.318 + 10 × 0.025


def test_a_prompt_that_can_never_fit_ends_at_once_and_others_wait_for_room() -> None:
    simulated = fleet(requests_per_second=1e-6, l0_bytes=10 * 128 * 57_344)
    replica = simulated.endpoints["chat"].replicas[0]
    submit(simulated, replica, 1280, 100)  # 10 blocks and the answer's
    assert (replica.outstanding, simulated.endpoints["chat"].failed_requests) == (0, 1)
    submit(simulated, replica, 1000, 200)
    submit(simulated, replica, 1000, 300)
    simulated.advance(0.4)
    assert (replica.gauges()[0].running, replica.gauges()[0].waiting) == (1, 1)
    simulated.advance(1.0)
    assert replica.outstanding == 0
    assert replica.truth.requests == 2


def test_a_restart_loses_what_ran_and_comes_back_cold() -> None:
    simulated = fleet(requests_per_second=1e-6)
    endpoint = simulated.endpoints["chat"]
    replica = endpoint.replicas[0]
    submit(simulated, replica, 1000, 100)
    simulated.advance(0.1)
    replica.restart()
    assert (replica.up, endpoint.failed_requests) == (False, 1)
    simulated.advance(21.0)
    assert replica.up
    assert replica.cache.l0.cached_blocks == len(replica.cache.l1) == 0
    assert f"process_start_time_seconds {BEGAN_AT + 20.1:.2e}"[:30] in replica.render_engine()


def test_new_sizes_are_rolled_out_one_replica_after_the_other() -> None:
    simulated = fleet(forms=(MP, MP, MP))
    endpoint = simulated.endpoints["chat"]
    endpoint.resize(None, 2**30)
    up = []
    for _ in range(70):
        simulated.advance(1.0)
        up.append(sum(replica.up for replica in endpoint.replicas))
    assert min(up) == 2
    assert up[-1] == 3
    assert {replica.cache.l1.capacity_bytes for replica in endpoint.replicas} == {2**30}


def test_scaling_out_adds_cold_replicas_and_in_takes_the_last() -> None:
    simulated = fleet()
    endpoint = simulated.endpoints["chat"]
    simulated.advance(120.0)
    endpoint.scale(3)
    assert endpoint.replicas[2].cache.l0.cached_blocks == 0
    simulated.advance(120.0)
    assert endpoint.replicas[2].truth.requests > 5
    endpoint.scale(1)
    simulated.advance(60.0)
    assert [target[1] for target in simulated.targets() if target[2] == "vllm"] == ["chat-0"]


@pytest.mark.parametrize("name", ["small", "article"])
def test_every_tier_is_in_play(name: str) -> None:
    simulated = Fleet(SCALES[name](), 1, BEGAN_AT)
    simulated.advance(900.0)
    truths = [replica.truth for endpoint in simulated.endpoints.values() for replica in endpoint.replicas]
    total = sum(truth.prompt_tokens for truth in truths)
    for tier in ("l0", "l1", "l2", "miss"):
        assert sum(getattr(truth, tier) for truth in truths) / total > 0.02, tier


def test_the_writer_fills_the_default_pool_within_the_hour() -> None:
    spec = SCALES["small"]()
    simulated = fleet(workload="writer", pool_bytes=sum(spec.worker_bytes), requests_per_second=0.3, l0_bytes=4 * 2**30)
    simulated.advance(3600.0)
    assert simulated.pool.evicted_chunks > 0
