"""What computing and loading cost, requests that fail or wait for the cache: from captures, and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.accountant import ReplicaAccountant
from collectors.body import interpret
from collectors.meter import Meter
from collectors.round_parts import Answered
from collectors.source import Key, TargetReading
from collectors.sources import BY_KIND
from tests.support.expositions import START, lmcache_mp, series, vllm
from tierdeck.account import Gauges
from tierdeck.fleet import Replica, ReplicaKey, Target
from tierdeck.readings import Reading
from tierdeck.rounds import Round, Scrape

CAPTURES = Path(__file__).parents[3] / "lab" / "captures" / "pressure"
KEY = ReplicaKey("c", "e", "r")
LABELS = '{engine="0",model_name="m"}'
WAITED = f"vllm:lmcache_mp_lookup_duration_seconds_sum{LABELS}"


def rounds(*moments: dict[str, str]) -> list[Round]:
    """One accountant over pages by kind of target, 15 seconds apart; all but the first have increases."""
    kinds = list(moments[0])
    targets = {kind: Target(KEY, kind, f"http://h/{kind}/metrics") for kind in kinds}
    accountant = ReplicaAccountant(Replica(KEY, tuple(targets.values())))
    found = []
    for number, pages in enumerate(moments, 1):
        at, answers = START + 1000 + 15 * number, {}
        for kind, page in pages.items():
            reading, reason = interpret(BY_KIND[targets[kind].kind], page)
            answers[kind] = Answered(Scrape(targets[kind], at, True, reason), reading)
        found.append(accountant.feed(at, answers))
    return found


def embedded(retrieved: dict[str, tuple[float, float]]) -> str:
    """Seconds and tokens by worker."""
    named: dict[str, float | None] = {"process_start_time_seconds": START}
    for worker, (seconds, tokens) in retrieved.items():
        named[f'lmcache:time_to_retrieve_sum{{worker_id="{worker}"}}'] = seconds
        named[f'lmcache:num_hit_tokens_total{{worker_id="{worker}"}}'] = tokens
        named[f'lmcache:num_lookup_tokens_total{{worker_id="{worker}"}}'] = tokens * 2
    return series(named)


def test_a_capture_of_real_engines_tells_them() -> None:
    pages = [
        {kind: (CAPTURES / "A" / moment / f"{kind}.txt").read_text() for kind in ("vllm", "lmcache-mp")}
        for moment in ("60", "120")
    ]
    ledger, gauges = rounds(*pages)[1].ledger, rounds(*pages)[1].gauges
    # request_prefill_time_seconds_sum 3.049974 -> 7.303806; lmcache_mp_lookup_duration_seconds_sum 0.491351 -> 1.198261
    assert ledger.prefill_seconds == pytest.approx(4.253832, abs=1e-6)
    assert ledger.load_seconds == pytest.approx(0.706910, abs=1e-6)
    # external_prefix_cache_hits 6144 -> 14336; prompt_tokens_by_source{local_compute} 9472 -> 27776
    assert (ledger.load_tokens, ledger.computed_tokens) == (8192.0, 18304.0)
    assert ledger.failed == 0.0
    assert gauges.deferred == 0.0


def test_errors_and_requests_that_wait_for_the_cache_are_told_apart_from_the_others() -> None:
    def page(failed: float, stopped: float) -> str:
        labels = 'engine="0",model_name="m"'
        return vllm(
            100,
            0,
            requests=stopped,
            more={
                'vllm:request_success_total{engine="0",finished_reason="error",model_name="m"}': failed,
                f'vllm:num_requests_waiting_by_reason{{{labels},reason="deferred"}}': 3.0,
                f'vllm:num_requests_waiting_by_reason{{{labels},reason="capacity"}}': 5.0,
            },
        )

    _, found = rounds({"vllm": page(2, 10)}, {"vllm": page(5, 30)})
    assert (found.ledger.failed, found.ledger.requests) == (3.0, 23.0)
    assert found.gauges.deferred == 3.0


def test_what_no_series_tells_is_unknown() -> None:
    _, found = rounds({"vllm": vllm(100, 0, 10, 0)}, {"vllm": vllm(200, 0, 20, 5)})
    ledger = found.ledger
    assert (ledger.failed, ledger.prefill_seconds, ledger.load_seconds, ledger.load_tokens) == (None, None, None, None)
    assert found.gauges == Gauges(running=0.0)


def test_embedded_ranks_load_at_the_same_time_and_the_slowest_one_counts() -> None:
    before = embedded({"0": (1.0, 100.0), "1": (1.0, 100.0)})
    after = embedded({"0": (1.5, 300.0), "1": (1.75, 300.0)})
    waited = vllm(10, 0, 10, 5, more={WAITED: 7.0}), vllm(20, 0, 20, 9, more={WAITED: 9.0})
    _, found = rounds({"vllm": waited[0], "lmcache": before}, {"vllm": waited[1], "lmcache": after})
    assert (found.ledger.load_seconds, found.ledger.load_tokens) == (0.75, 200.0)


def test_embedded_lmcache_may_tell_on_the_engines_page() -> None:
    def page(queries: float, seconds: float, tokens: float) -> str:
        return vllm(queries, 0, queries, 5) + embedded({"0": (seconds, tokens)}).split("\n", 1)[1]

    _, found = rounds({"vllm": page(10, 1.0, 100)}, {"vllm": page(20, 1.5, 300)})
    assert (found.ledger.load_seconds, found.ledger.load_tokens) == (0.5, 200.0)


def test_of_a_cache_server_it_counts_how_long_requests_waited_for_it() -> None:
    def pages(waited: float, loaded: float) -> dict[str, str]:
        return {"vllm": vllm(100 + loaded, 0, 100 + loaded, loaded, more={WAITED: waited}), "lmcache-mp": lmcache_mp(9)}

    _, found = rounds(pages(2.0, 0), pages(2.5, 64))
    assert (found.ledger.load_seconds, found.ledger.load_tokens) == (0.5, 64.0)


def test_a_sum_that_is_lower_by_rounding_is_no_restart() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit."""

    def reading(seconds: float, tokens: float) -> TargetReading:
        counters = {Key(Reading.PREFILL_SECONDS, "0"): seconds, Key(Reading.PROMPT_TOKENS, "0"): tokens}
        return TargetReading(start_time=START, counters=counters, recognised=True)

    meter = Meter()
    meter.feed(reading(0.1 + 0.2 + 0.3, 100))
    increase = meter.feed(reading(0.3 + 0.2 + 0.1, 150))
    assert 0.3 + 0.2 + 0.1 < 0.1 + 0.2 + 0.3
    assert not increase.reset
    assert increase.counts[Reading.PROMPT_TOKENS] == 50
    assert increase.counts[Reading.PREFILL_SECONDS] == pytest.approx(0.0, abs=1e-12)
