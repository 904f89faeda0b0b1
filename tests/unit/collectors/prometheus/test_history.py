"""The past on a coarse grid: what is between two moments is looked for where a process ended."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.history import chunks
from collectors.prometheus.watch import Watch
from tests.support.expositions import vllm
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.prometheus_targets import T0, an_engine, in_pod
from tierdeck.rounds import Round

STEP = 300
POD = in_pod("chat-0")


def scrape(server: MemoryPrometheus, labels: Mapping[str, str], start: int, end: int, began: float) -> None:
    """Every 15 s from T0 + start to T0 + end; a token a second is looked up since the process began."""
    for at in range(T0 + start, T0 + end + 1, 15):
        server.scrape(labels, at, an_engine(at - T0 - began, start=T0 + began))


def account(server: MemoryPrometheus, steps: int = 4, pieces: int = 1) -> list[Round]:
    """T0 up to T0 + steps; in pieces, as a large fleet's past is asked for."""
    asking = Asking(server)
    asking.discover(T0 + steps * STEP)
    watch = Watch(float(T0), 0.0, past_step_seconds=STEP)
    rounds = []
    for piece in range(pieces):
        start, end = (T0 + STEP * steps * number // pieces for number in (piece, piece + 1))
        for chunk in chunks(asking, start, end, STEP):
            moments = chunk.moments[1:] if piece else chunk.moments
            rounds += watch.feed(chunk.seen, arrange(asking.catalogue.addresses, (), "default"), moments)
    return rounds


def tokens(rounds: list[Round]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in rounds:
        found[one.key.replica] = found.get(one.key.replica, 0) + (one.ledger.prompt_tokens or 0)
    return found


def seconds(rounds: list[Round]) -> list[float]:
    return [one.at - T0 for one in rounds]


def test_a_process_that_goes_on_is_read_at_the_moments_only() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 1200, began=-9000)
    rounds = account(server)
    assert seconds(rounds) == [0, 300, 600, 900, 1200]
    assert tokens(rounds) == {"chat-0": 1200}


def test_a_restart_between_two_moments_is_read_at_the_last_scrape_before_it() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 450, began=-9000)
    scrape(server, POD, 480, 1200, began=470)
    rounds = account(server)
    assert seconds(rounds) == [0, 300, 450, 600, 900, 1200]
    assert tokens(rounds) == {"chat-0": 450 + 1200 - 470}
    assert sum(one.ledger.restarts for one in rounds) == 1


def test_every_process_of_a_crash_loop_is_counted() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 300, began=-9000)
    for began in (310, 370, 430, 490):  # each lives for 45 s
        scrape(server, POD, began + 5, began + 50, began=began)
        server.scrape(POD, T0 + began + 55, None)
    rounds = account(server)
    assert tokens(rounds) == {"chat-0": 300 + 4 * 50}
    assert sum(one.ledger.restarts for one in rounds) == 4


def test_a_pod_that_lived_between_two_moments_is_found() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 1200, began=-9000)
    scrape(server, in_pod("chat-1"), 315, 585, began=310)
    server.remove(in_pod("chat-1"), T0 + 590)
    assert tokens(account(server)) == {"chat-0": 1200, "chat-1": 585 - 310}


def test_a_pod_that_goes_is_read_up_to_its_last_scrape_and_was_not_there_afterwards() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 1200, began=-9000)
    scrape(server, in_pod("chat-1"), -600, 750, began=-9000)
    server.remove(in_pod("chat-1"), T0 + 755)
    rounds = [one for one in account(server) if one.key.replica == "chat-1"]
    assert seconds(rounds) == [0, 300, 600, 900]  # the page of 750 stands for the last moment
    assert tokens(rounds) == {"chat-1": 750}
    assert rounds[-1].ledger.engine_gaps == 0


def test_a_pod_that_comes_later_has_no_gap_before_it() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 1200, began=-9000)
    scrape(server, in_pod("chat-1"), 855, 1200, began=610)
    rounds = [one for one in account(server) if one.key.replica == "chat-1"]
    assert [(one.ledger.started_at - T0, one.at - T0, one.ledger.prompt_tokens) for one in rounds] == [
        (600, 900, 290), (900, 1200, 300)
    ]  # fmt: skip
    assert sum(one.ledger.engine_gaps for one in rounds) == 0


def test_fewer_series_after_a_restart_hold_nothing_back() -> None:
    server = MemoryPrometheus()
    for at in range(T0 - 600, T0 + 301, 15):
        server.scrape(POD, at, vllm(at - T0 + 9000, 0, requests=5))
    for at in range(T0 + 315, T0 + 1201, 15):
        server.scrape(POD, at, vllm(at - T0 - 310, 0, start=T0 + 310.0))
    assert tokens(account(server)) == {"chat-0": 300 + 1200 - 310}


def test_chunks_that_follow_one_another_count_what_one_does() -> None:
    server = MemoryPrometheus()
    scrape(server, POD, -600, 590, began=-9000)
    scrape(server, POD, 615, 1200, began=601)  # at a border
    whole, pieces = account(server), account(server, pieces=4)
    assert [(one.at, one.ledger.prompt_tokens) for one in whole] == [
        (one.at, one.ledger.prompt_tokens) for one in pieces
    ]


def test_two_names_of_the_lookups_on_one_page_are_no_trouble() -> None:
    server = MemoryPrometheus()
    for number in range(81):
        at = T0 + 15 * number
        old = {'vllm:gpu_prefix_cache_queries_total{engine="0",model_name="m"}': number}
        server.scrape(POD, at, vllm(number, 0, more=old))
    assert tokens(account(server)) == {"chat-0": 80}


def test_a_pair_of_which_one_died_long_ago_is_read_from_the_other() -> None:
    server = MemoryPrometheus()
    scrape(server, {**POD, "prometheus_replica": "a"}, -600, 290, began=-9000)
    server.remove({**POD, "prometheus_replica": "a"}, T0 + 295)
    scrape(server, {**POD, "prometheus_replica": "b"}, -600, 1200, began=-9000)
    rounds = account(server, pieces=4)
    assert seconds(rounds) == [0, 300, 600, 900, 1200]
    assert tokens(rounds) == {"chat-0": 1200}
