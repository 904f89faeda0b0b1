"""The live feed and the past of a Prometheus in a store: nothing is lost and nothing counted twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice

import pytest
from pydantic import SecretStr

from collectors.prometheus.asking import Asking
from collectors.prometheus.backfill import Past, fill, first_contact
from collectors.prometheus.errors import ServerBusyError
from collectors.prometheus.feed import Feed
from collectors.prometheus.server import Series
from collectors.prometheus.source import PrometheusSource
from db import Store
from health.pulse import Pulse
from tests.support.http_replies import Canned, replying
from tests.support.memory_prometheus import MemoryPrometheus
from tests.support.processes import wait_until
from tests.support.prometheus_targets import an_engine, in_pod
from tests.support.stores import Sqlite, open_store
from tierdeck.account import WarmingLimits
from tierdeck.errors import TierdeckError
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round
from tierdeck.settings import Settings

T0 = 1_700_000_400
SETTINGS = Settings(prometheus_url=SecretStr("http://prometheus:9090"))
LIMITS = WarmingLimits()


@pytest.fixture
def store(sqlite: Sqlite) -> Iterator[Store]:
    """The rows are the same on both databases (test_store_rounds.py)."""
    with open_store(sqlite) as one:
        yield one


class Failing(MemoryPrometheus):
    """One that can be told not to answer."""

    is_down = False

    def instant(self, query: str, at: float) -> list[Series]:
        if self.is_down:
            raise ServerBusyError("it can't answer now")
        return super().instant(query, at)

    def over(self, query: str, start: float, end: float, step_seconds: float) -> list[Series]:
        if self.is_down:
            raise ServerBusyError("it can't answer now")
        return super().over(query, start, end, step_seconds)


class Deck:
    """A store that is fed from a Prometheus which scrapes every 15 s."""

    def __init__(self, store: Store, server: Failing) -> None:
        self.store, self.server = store, server
        self.rounds: list[Round] = []
        self.feed = Feed(SETTINGS, lambda: (), store, self._put, server)

    def _put(self, one: Round) -> None:
        self.rounds.append(one)
        self.store.append([one])

    def again(self) -> Deck:
        """The same after a restart of the collectors."""
        return Deck(self.store, self.server)

    def fill(self, seconds: int = 4 * 3600) -> list[float]:
        present = first_contact(self.store, "p", "default")
        past = Past("p", seconds, self.feed.since if present is None else present, "default", LIMITS)
        return [round(one.share, 3) for one in fill(past, lambda: Asking(self.server), (), self.store)]

    def replicas(self) -> dict[str, list[str]]:
        return {one.name: [replica.key.replica for replica in one.replicas] for one in self.store.endpoints("default")}

    def tokens(self, start: float, end: float) -> dict[str, float]:
        series = self.store.replica_series(start, end, Resolution.RAW, "default", "chat")
        return {str(name): float(sum_) for name, sum_ in series.groupby("replica")["prompt_tokens"].sum().items()}


def scrape(server: MemoryPrometheus, pod: str, seconds: int, until: int, start: float = T0 - 9e6) -> None:
    """Scrapes from T0 + seconds on, every 15 s; a token a second is looked up since the process began."""
    for at in range(T0 + seconds, T0 + until + 1, 15):
        server.scrape(in_pod(pod), at, an_engine(at - start, start=start))


@contextmanager
def silent(server: Failing) -> Iterator[None]:
    server.is_down = True
    yield
    server.is_down = False


def test_the_first_contact_is_a_baseline_a_delay_ago_and_then_every_second_counts(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 600)
    deck = Deck(store, server)
    assert deck.feed.step(T0 + 7.0) == 2
    assert (deck.feed.since, deck.feed.goes_on) == (T0 - 3, False)  # 10 s before T0 + 7
    assert deck.feed.step(T0 + 22.0) == 1
    # T0 - 15 is the page of T0 - 3, T0 that of T0 + 7, and T0 + 15 that of T0 + 22
    assert [one.ledger.prompt_tokens for one in deck.rounds] == [None, 15, 15]
    assert deck.replicas() == {"chat": ["chat-0"]}


def test_what_is_not_there_is_told_with_what_is(store: Store) -> None:
    server = Failing()
    server.scrape({"job": "node", "instance": "a:9100"}, T0, "node_load1 1\n")
    with pytest.raises(TierdeckError, match="no vLLM series: it scrapes the jobs node"):
        Deck(store, server).feed.step(T0 + 1.0)


def test_matchers_that_leave_nothing_are_told(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 0)
    feed = Feed(SETTINGS.model_copy(update={"prometheus_match": 'namespace="other"'}), lambda: (), store, print, server)
    with pytest.raises(TierdeckError, match='no vLLM series matching namespace="other": it scrapes the jobs ns/vllm'):
        feed.step(T0 + 1.0)


def test_a_stop_ends_the_pause_before_the_next_try(store: Store) -> None:
    with replying(Canned(503, "Service Unavailable", {"Retry-After": "15"})) as server:
        settings = Settings(prometheus_url=SecretStr(server.url))
        source = PrometheusSource(settings, store, print, lambda: (), pulse=Pulse())

        async def stopped() -> float:
            running = asyncio.create_task(source.run())
            await asyncio.to_thread(wait_until, lambda: bool(server.asked), "the first try")
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            return time.monotonic()

        stopped_at = asyncio.run(stopped())  # ends once the thread has
        assert time.monotonic() - stopped_at < 10


def test_a_server_that_fails_for_a_while_loses_nothing(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 3600)
    deck = Deck(store, server)
    deck.feed.step(T0 + 0.0)
    for seconds in (60, 1800):  # the second one is caught up on a grid
        with silent(server), pytest.raises(ServerBusyError):
            deck.feed.step(T0 + seconds - 15.0)
        deck.feed.step(float(T0 + seconds))
    assert sum(one.ledger.prompt_tokens or 0 for one in deck.rounds) == 1800 + 15  # from the page of T0 - 15 on
    assert [one.at for one in deck.rounds] == sorted({one.at for one in deck.rounds})


def test_a_server_that_was_away_itself_makes_no_replica_one_that_does_not_answer(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 120)
    scrape(server, "chat-0", 435, 600)
    deck = Deck(store, server)
    for seconds in (0, 60, 120):
        deck.feed.step(float(T0 + seconds))
    with silent(server), pytest.raises(ServerBusyError):
        deck.feed.step(T0 + 135.0)
    for seconds in (420, 425, 430, 435, 450):  # it answers again, and scrapes only from 435 on
        deck.feed.step(float(T0 + seconds))
    assert all(scrape.answered for one in deck.rounds for scrape in one.scrapes)
    assert deck.tokens(T0, T0 + 500) == {"chat-0": 450}


def test_a_replica_that_stays_silent_once_the_server_is_back_does_not_answer(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 120)
    scrape(server, "code-0", -600, 600)
    deck = Deck(store, server)
    deck.feed.step(float(T0 + 120))
    with silent(server), pytest.raises(ServerBusyError):
        deck.feed.step(T0 + 135.0)
    for seconds in range(150, 220, 5):
        deck.feed.step(float(T0 + seconds))
    failed = [one.at - T0 for one in deck.rounds if not all(scrape.answered for scrape in one.scrapes)]
    assert failed[0] == 185  # 1.5 × 15 + 10 s after the first answer


def test_collectors_that_were_away_for_an_hour_go_on_with_what_the_store_remembers(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 7200)
    deck = Deck(store, server)
    for seconds in (0, 15, 30):
        deck.feed.step(float(T0 + seconds))
    later = deck.again()
    later.feed.step(T0 + 3637.0)
    assert later.feed.goes_on
    assert deck.tokens(T0, T0 + 3700) == {"chat-0": 3630}  # the page of T0 + 3637 is that of T0 + 3630
    assert {note.code for one in later.rounds for note in one.ledger.notes} == set()


def test_restarts_and_new_pods_during_an_absence_are_counted_to_their_last_scrapes(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 1000)
    scrape(server, "chat-0", 1110, 3600, start=T0 + 1050.0)
    scrape(server, "chat-1", 2010, 3600, start=T0 + 2000.0)
    deck = Deck(store, server)
    deck.feed.step(float(T0))
    deck.again().feed.step(float(T0 + 3600))
    # chat-0: from T0 to T0 + 990, then 3600 - 1050; chat-1: 3600 - 2000
    assert deck.tokens(T0, T0 + 3600) == {"chat-0": 990 + 2550, "chat-1": 1600}


def test_a_replaced_pod_leaves_the_inventory_and_the_new_one_counts_from_0(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 300)
    scrape(server, "code-0", -600, 600)
    deck = Deck(store, server)
    for seconds in range(0, 300, 15):
        deck.feed.step(float(T0 + seconds))
    server.remove(in_pod("chat-0"), T0 + 301)
    scrape(server, "chat-1", 330, 600, start=T0 + 310.0)
    for seconds in range(300, 600, 15):
        deck.feed.step(float(T0 + seconds))
    assert deck.replicas() == {"chat": ["chat-1"], "code": ["code-0"]}
    assert deck.tokens(T0, T0 + 600) == {"chat-0": 300, "chat-1": 585 - 310}


def test_an_endpoint_that_is_silent_as_a_whole_stays_for_an_hour_as_one_that_does_not_answer(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 0)
    scrape(server, "code-0", -600, 7200)
    deck = Deck(store, server)
    deck.feed.step(float(T0))
    server.remove(in_pod("chat-0"), T0 + 1)
    for seconds in (120, 240, 3300):
        deck.feed.step(float(T0 + seconds))
    assert deck.replicas() == {"chat": ["chat-0"], "code": ["code-0"]}
    last = [one for one in deck.rounds if one.key.replica == "chat-0"][-1]
    assert last.scrapes[0].reason == "Prometheus has no present sample of it"
    for seconds in (3500, 3660):
        deck.feed.step(float(T0 + seconds))
    assert deck.replicas() == {"code": ["code-0"]}


def test_a_pair_of_prometheus_goes_on_with_the_copy_that_lives(store: Store) -> None:
    server = Failing()
    first, second = ({**in_pod("chat-0"), "prometheus_replica": name} for name in "ab")
    for at in range(T0 - 600, T0 + 600, 15):
        page = an_engine(at - T0 + 9000)
        if at < T0 + 100:
            server.scrape(first, at, page)
        server.scrape(second, at, page)
    server.remove(first, T0 + 106)
    deck = Deck(store, server)
    for seconds in range(0, 600, 15):
        deck.feed.step(float(T0 + seconds))
    assert deck.tokens(T0, T0 + 600) == {"chat-0": 585}
    assert deck.rounds[-1].ledger.prompt_tokens == 15


def test_a_new_pod_with_labels_of_its_own_disturbs_no_other(store: Store) -> None:
    server = Failing()
    scrape(server, "chat-0", -600, 600)
    deck = Deck(store, server)
    deck.feed.step(float(T0))
    for at in range(T0 + 15, T0 + 60, 15):
        server.scrape(in_pod("chat-1", job="ns/new", team="x"), at, an_engine(at - T0 - 5, start=T0 + 5.0))
        deck.feed.step(float(at))
    assert deck.tokens(T0, T0 + 60) == {"chat-0": 45, "chat-1": 40}  # 45 - 5


def test_pods_that_come_and_go_for_days_leave_no_trace_in_memory(store: Store) -> None:
    server = Failing()
    scrape(server, "code-0", -600, 0)
    deck = Deck(store, server)
    deck.feed.step(float(T0))
    sizes = []
    for day in range(3):
        at = T0 + 86_400 * (day + 1)
        for pod in ("code-0", f"chat-{day}"):
            server.scrape(in_pod(pod), at - 15, an_engine())
            server.scrape(in_pod(pod), at, an_engine())
        deck.feed.step(float(at))
        server.remove(in_pod(f"chat-{day}"), at + 1)
        server.scrape(in_pod("code-0"), at + 4000, an_engine())
        deck.feed.step(float(at + 4000))
        sizes.append(deck.feed.known_series)
    assert sizes == [sizes[0]] * 3


def past_of_two(server: MemoryPrometheus) -> Mapping[str, float]:
    """Four hours in which chat-0 restarts and chat-1 is replaced; what is counted of (T0 - 4 h, T0]."""
    scrape(server, "chat-0", -14_700, -5_000)
    scrape(server, "chat-0", -4_800, 600, start=T0 - 4_900.0)
    scrape(server, "chat-1", -14_700, -1_000)
    server.remove(in_pod("chat-1"), T0 - 999)
    scrape(server, "chat-2", -900, 600, start=T0 - 950.0)
    # scrapes are at multiples of 15 s from T0 - 14,700 on: the last ones are at -5,010 and -1,005
    return {"chat-0": 14_400 - 5_010 + 4_900, "chat-1": 14_400 - 1_005, "chat-2": 950.0}


def test_the_past_is_filled_in_token_for_token_with_restarts_and_replaced_pods(store: Store) -> None:
    server = Failing()
    truth = past_of_two(server)
    deck = Deck(store, server)
    deck.feed.step(T0 + 10.0)  # the first contact is at T0
    assert deck.feed.since == T0
    told = deck.fill()
    assert told[0] == 0
    assert told[-1] == 1
    assert deck.tokens(T0 - 14_400, T0) == truth
    assert sum(one.ledger.restarts for one in deck.rounds) == 0
    assert deck.fill() == []  # it is done


def test_live_rows_and_those_of_the_past_meet_without_loss_and_doubling(store: Store) -> None:
    server = Failing()
    past_of_two(server)
    deck = Deck(store, server)
    for seconds in (10, 25, 40):
        deck.feed.step(float(T0 + seconds))
    before = deck.tokens(T0 + 1, T0 + 40)
    deck.fill()
    assert deck.tokens(T0 + 1, T0 + 40) == before == {"chat-0": 30, "chat-2": 30}
    whole = deck.tokens(T0 - 3_600, T0 + 40)
    assert whole["chat-2"] == 950 + 30


def test_a_past_that_was_cut_off_is_gone_on_with_and_comes_out_the_same(store: Store) -> None:
    server = Failing()
    truth = past_of_two(server)
    deck = Deck(store, server)
    deck.feed.step(T0 + 10.0)
    past = Past("p", 14_400, T0, "default", LIMITS)
    assert len(list(islice(fill(past, lambda: Asking(server), (), store), 2))) == 2
    with silent(server), pytest.raises(ServerBusyError):
        deck.fill()
    told = deck.fill()
    assert told[-1] == 1
    assert deck.tokens(T0 - 14_400, T0) == truth
    history = next(one for one in store.backfills("default") if one.source.startswith("the history"))
    store.tell_backfill(replace(history, done_at=T0 - 9_000))  # cut off in mid-way
    deck.fill()
    assert deck.tokens(T0 - 14_400, T0) == truth
