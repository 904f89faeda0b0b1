"""Pages in, rounds out: late pages, restarts, failures, and replicas that come, go and change their name."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.prometheus.asking import Asking
from collectors.prometheus.fleet import arrange
from collectors.prometheus.watch import Memories, Watch
from tests.support.expositions import vllm
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.prometheus_targets import T0, Scraped, a_cache, an_engine, in_pod, on_host
from tierdeck.account import Answer
from tierdeck.notes import NoteCode
from tierdeck.rounds import Round

POD, HOST = in_pod("chat-0"), on_host("gpu1")
NEW = T0 + 20.0
"""Start of a process that began after the first contact."""


class Watched:
    """A Prometheus that scrapes every 15 s, and a watch on it from T0 on."""

    def __init__(self, *first: Scraped, late_seconds: float = 10.0, memories: Memories | None = None) -> None:
        self.server = MemoryPrometheus()
        self.asking = Asking(self.server)
        self._late = late_seconds
        self.watch = Watch(T0, late_seconds, memories=memories)
        for labels, page in first:
            self.server.scrape(labels, T0 - 15, page)
            self.server.scrape(labels, T0, page)
        self.asking.discover(T0)
        self.rounds = self.ask(0)

    def ask(self, seconds: float, *scraped: Scraped | tuple[Mapping[str, str], None]) -> list[Round]:
        """The rounds at T0 + seconds, after these scrapes at that instant."""
        for labels, page in scraped:
            self.server.scrape(labels, T0 + seconds, page)
        seen = self.asking.raw(T0 + seconds - 15 - self._late, T0 + seconds)
        return self.watch.feed(seen, arrange(self.asking.catalogue.addresses, (), "default"), [T0 + seconds])


def tokens(rounds: list[Round]) -> list[tuple[float, float | None, int]]:
    """Seconds since T0, prompt tokens and restarts of each round."""
    return [(round(one.at - T0, 3), one.ledger.prompt_tokens, one.ledger.restarts) for one in rounds]


def test_the_first_round_is_a_baseline_and_the_next_ones_count() -> None:
    deck = Watched((POD, an_engine(100)))
    assert tokens(deck.rounds) == [(0, None, 0)]
    assert tokens(deck.ask(15, (POD, an_engine(130)))) == [(15, 30, 0)]
    assert tokens(deck.ask(20)) == [(20, 0, 0)]  # the same page still stands for the present


def test_a_last_page_that_comes_late_is_counted_in_a_round_of_its_own() -> None:
    deck = Watched((POD, an_engine(100)))
    assert tokens(deck.ask(15)) == [(15, 0, 0)]
    deck.server.scrape(POD, T0 + 14, an_engine(140))  # written only now
    rounds = deck.ask(30, (POD, an_engine(7, start=NEW)))
    assert tokens(rounds) == [(15.001, 40, 0), (30, 7, 1)]


def test_a_last_page_before_a_failed_scrape_is_counted_though_it_comes_late() -> None:
    deck = Watched((POD, an_engine(100)))
    deck.ask(15)
    deck.server.scrape(POD, T0 + 14, an_engine(140))
    assert tokens(deck.ask(30, (POD, None))) == [(15.001, 40, 0), (30, None, 0)]
    assert tokens(deck.ask(45, (POD, an_engine(7, start=NEW)))) == [(45, 7, 1)]


def test_a_page_of_which_series_are_missing_yet_is_held_back() -> None:
    deck = Watched((POD, vllm(100, 50, requests=4)))
    assert tokens(deck.ask(15, (POD, vllm(130, 60)))) == [(15, 0, 0)]
    deck.server.scrape(POD, T0 + 15, vllm(130, 60, requests=9))  # the rest arrives
    (found,) = deck.ask(24)
    assert (found.ledger.prompt_tokens, found.ledger.requests) == (30, 5)


def test_series_that_do_not_come_are_not_waited_for_beyond_the_delay() -> None:
    deck = Watched((POD, vllm(100, 50, requests=4)))
    deck.ask(15, (POD, vllm(130, 60)))
    assert tokens(deck.ask(25)) == [(25, 30, 0)]


def test_without_a_delay_nothing_is_held_back() -> None:
    deck = Watched((POD, vllm(100, 50, requests=4)), late_seconds=0.0)
    assert tokens(deck.ask(15, (POD, vllm(130, 60)))) == [(15, 30, 0)]


def test_a_failed_scrape_does_not_answer_and_the_next_one_counts_the_time_between() -> None:
    deck = Watched((POD, an_engine(100)))
    (failed,) = deck.ask(15, (POD, None))
    assert (failed.answer, failed.scrapes[0].reason) == (Answer.NOTHING, "Prometheus could not scrape it (up is 0)")
    assert tokens(deck.ask(30, (POD, an_engine(150)))) == [(30, 50, 0)]


def test_a_target_that_vanished_stands_for_the_present_for_an_interval_and_a_half_and_the_delay() -> None:
    deck = Watched((POD, an_engine(100)))
    deck.server.remove(POD, T0 + 1)
    answers = [deck.ask(seconds)[0].scrapes[0].reason for seconds in (15, 30, 45)]
    assert answers == ["", "", "Prometheus has no present sample of it"]  # 1.5 × 15 + 10 = 32.5 s


def test_a_new_pod_counts_from_0_where_its_process_is_new() -> None:
    deck = Watched((POD, an_engine(100)))
    deck.ask(15, (POD, an_engine(100)))
    rounds = deck.ask(30, (in_pod("chat-1"), an_engine(5, start=NEW)), (in_pod("chat-2"), an_engine(6, start=T0 - 9)))
    found = {one.key.replica: (one.ledger.started_at - T0, one.ledger.prompt_tokens) for one in rounds}
    assert found == {"chat-0": (15, 0), "chat-1": (15, 5), "chat-2": (15, None)}


def test_a_cache_server_whose_engine_is_seen_later_loses_nothing_by_the_move() -> None:
    cache = in_pod("chat-0", 8080)
    deck = Watched((in_pod("chat-1"), an_engine()), (cache, a_cache(10)))
    assert [(one.key.replica, one.ledger.l1_found) for one in deck.ask(15, (cache, a_cache(12)))] == [
        ("_fleet", 2), ("chat-1", None)
    ]  # fmt: skip
    rounds = deck.ask(30, (cache, a_cache(17)), (POD, an_engine(9, start=NEW)))
    found = {one.key.replica: (one.ledger.l1_found, one.ledger.prompt_tokens) for one in rounds}
    assert found == {"chat-0": (5, 9), "chat-1": (None, 0)}  # 17 - 12


def test_an_engine_whose_replica_gets_another_name_is_not_counted_anew() -> None:
    deck = Watched((HOST, an_engine(100)))
    assert tokens(deck.ask(15, (HOST, an_engine(40, start=NEW)))) == [(15, 40, 1)]
    second = on_host("gpu1", 8001)
    rounds = deck.ask(30, (HOST, an_engine(45, start=NEW)), (second, an_engine(3, start=NEW)))
    assert {one.key.replica: one.ledger.prompt_tokens for one in rounds} == {"gpu1:8000": 5, "gpu1:8001": 3}
    deck.asking.catalogue.forget(T0)  # nothing is that old
    gone = next(one for one in deck.asking.catalogue.addresses if one.labels["instance"] == "gpu1:8001")
    gone.seen_at = T0 - 3600.0
    deck.server.remove(second, T0 + 31)
    deck.asking.catalogue.forget(T0)
    deck.server.scrape(HOST, T0 + 60, an_engine(52, start=NEW))
    seen = deck.asking.raw(T0 + 45, T0 + 60)
    back = deck.watch.feed(seen, arrange(deck.asking.catalogue.addresses, (), "default"), [T0 + 60])
    assert [(one.key.replica, one.ledger.prompt_tokens) for one in back] == [("gpu1", 7)]  # 52 - 45


def test_a_second_namespace_with_the_same_names_counts_nothing_twice() -> None:
    deck = Watched((POD, an_engine(100)))
    deck.ask(15, (POD, an_engine(40, start=NEW)))
    other = in_pod("chat-0", namespace="test")
    rounds = deck.ask(30, (POD, an_engine(45, start=NEW)), (other, an_engine(3, start=NEW)))
    assert {one.key.endpoint: one.ledger.prompt_tokens for one in rounds} == {"chat.ns": 5, "chat.test": 3}


def test_the_other_copy_of_a_pair_goes_on_where_the_first_one_stopped() -> None:
    first, second = ({**POD, "prometheus_replica": name} for name in "ab")
    deck = Watched((first, an_engine(100)))
    deck.server.scrape(second, T0 + 7, an_engine(110))
    deck.server.scrape(second, T0 + 22, an_engine(125))
    seen = deck.asking.raw(T0, T0 + 25)
    living = [one for one in deck.asking.catalogue.addresses if one.labels["prometheus_replica"] == "b"]
    rounds = deck.watch.feed(seen, arrange(living, (), "default"), [T0 + 25])
    assert tokens(rounds) == [(25, 25, 0)]


def test_older_pages_than_those_that_were_read_change_nothing() -> None:
    deck = Watched((POD, an_engine(100)))
    deck.ask(15, (POD, an_engine(130)))
    seen = deck.asking.raw(T0 - 20, T0)
    assert tokens(deck.watch.feed(seen, arrange(seen, (), "default"), [T0 + 20.0])) == [(20, 0, 0)]


def test_a_watch_goes_on_from_what_the_store_remembers() -> None:
    before = Watched((POD, an_engine(100)))
    (last,) = before.ask(15, (POD, an_engine(130)))
    after = Watched((POD, an_engine(130)), memories={last.key: last.memory})
    assert after.rounds == []  # that moment is before the last one that is stored
    assert tokens(after.ask(30, (POD, an_engine(150)), (in_pod("chat-1"), an_engine(5, start=NEW)))) == [
        (30, 20, 0), (30, 5, 0)
    ]  # fmt: skip


def test_what_left_the_fleet_long_ago_is_forgotten() -> None:
    deck = Watched((POD, an_engine(100)), (in_pod("chat-1"), an_engine(7)))
    kept = [one for one in deck.asking.catalogue.addresses if one.labels["pod"] == "chat-0"]
    for seconds in (15, 3700):
        deck.server.scrape(POD, T0 + seconds, an_engine(100))
        seen = deck.asking.raw(T0 + seconds - 15, T0 + seconds)
        deck.watch.feed(seen, arrange(kept, (), "default"), [T0 + seconds])
    back = {one.key.replica: one for one in deck.ask(3715, (in_pod("chat-1"), an_engine(9)))}
    # its memory is gone: the process is an old one, and its count a new baseline
    assert back["chat-1"].ledger.prompt_tokens is None
    assert back["chat-1"].ledger.started_at == T0 + 3700


def test_what_this_prometheus_can_not_tell_is_noted_in_each_round() -> None:
    (found,) = Watched((on_host("a"), vllm(10, 5, requests=1))).rounds
    assert NoteCode.SERIES_MISSING in {note.code for note in found.ledger.notes}
