"""What alerting sees: one minute of everything, and the hits of weeks; on both databases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from db import Store
from tests.support.alerts import firing, pending
from tests.support.deployed import event, sighting
from tests.support.rounds import T0, a_round, endpoint, histogram, key, ledger
from tierdeck.account import Answer, Gauges, PoolAccount, WarmingLimits
from tierdeck.alerts.alert import Subject
from tierdeck.alerts.minute import Minute
from tierdeck.errors import UsageError
from tierdeck.events import EventKind
from tierdeck.fleet import FLEET, POOL, Replica, ReplicaKey
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode
from tierdeck.resolution import Resolution
from tierdeck.rounds import Round

LIMITS = WarmingLimits()
CHAT = Subject("east", "chat")


def minute_of(store: Store, subject: Subject = CHAT, at: float = T0) -> Minute:
    return store.scene(at).minutes[subject]


def rolled_up(store: Store, *rounds: Round) -> Store:
    store.append(rounds)
    store.rollup(T0 + 120, LIMITS)
    return store


def shared(at: float, **counts: float) -> Round:
    """The cache server of all replicas."""
    told = TokenLedger(at - 15, at, cache_at_start=True, cache_at_end=True, **counts)  # type: ignore[arg-type]
    return a_round(at, key(FLEET), None, counts=told, answer=Answer.NO_ENGINE)


def test_a_minute_holds_an_endpoints_sums(store: Store) -> None:
    counts = {"stores_submitted": 8.0, "stores_completed": 6.0, "lookup_tokens": 900.0, "l1_found": 300.0,
              "l2_found": 100.0, "computed_tokens": 30.0, "failed": 1.0, "prefill_seconds": 0.5,
              "load_seconds": 0.25, "load_tokens": 19.0}  # fmt: skip
    rolled_up(
        store,
        *(
            a_round(T0 + seconds, key(name), counts=ledger(T0 + seconds, 100.0, **counts),
                    gauges=Gauges(running=2.0, waiting=1.0, deferred=1.0), ttft=histogram(1, 0, 2, 0, 0))
            for seconds in (15, 60)
            for name in "ab"
        ),
    )  # fmt: skip
    found = minute_of(store)
    # two rounds of two replicas, each 100 tokens, of which 50 from L0 and 20 from below, and 10 requests
    assert (found.at, found.prompt_tokens, found.hit_tokens, found.l0, found.requests) == (T0, 400.0, 280.0, 200.0, 40)
    assert (found.running, found.waiting) == (4.0, 2.0)
    assert (found.replicas, found.readable, found.restarts) == (2, 2, 0)
    assert (found.stores_submitted, found.stores_completed) == (32.0, 24.0)
    assert (found.lookup_tokens, found.found_l1, found.found_l2, found.loaded_tokens) == (3600.0, 1200.0, 400.0, 80.0)
    assert (found.computed_tokens, found.prefill_seconds, found.load_seconds) == (120.0, 2.0, 1.0)
    assert (found.load_tokens, found.failed, found.deferred) == (76.0, 4.0, 2.0)
    assert found.ttft == histogram(4, 0, 8, 0, 0, total=4.0)
    assert (found.is_changed, found.is_restated) == (False, False)


def test_rounds_belong_to_the_minute_in_which_they_end(store: Store) -> None:
    before = a_round(T0 - 15, prompt=8.0)
    rolled_up(store, before, a_round(T0, prompt=1.0), a_round(T0 + 60, prompt=2.0), a_round(T0 + 61, prompt=4.0))
    assert [minute_of(store, at=at).prompt_tokens for at in (T0 - 60, T0, T0 + 60)] == [9.0, 2.0, 4.0]
    with pytest.raises(UsageError, match="a minute can't begin"):
        store.scene(T0 + 1)


def test_what_one_readable_replica_can_not_tell_is_unknown_and_an_unreadable_one_is_left_out(store: Store) -> None:
    rolled_up(
        store,
        a_round(T0 + 15, counts=ledger(T0 + 15, 100.0, computed_tokens=30.0)),
        a_round(T0 + 15, key("b"), counts=ledger(T0 + 15, 100.0)),
        a_round(T0 + 15, key("c"), None),
        a_round(T0 + 15, key("a", "code"), counts=ledger(T0 + 15, 100.0, computed_tokens=30.0)),
        a_round(T0 + 15, key("b", "code"), None),
    )
    chat, code = minute_of(store), minute_of(store, Subject("east", "code"))
    assert (chat.replicas, chat.readable, chat.computed_tokens, chat.loaded_tokens) == (3, 2, None, 40.0)
    assert (code.replicas, code.readable, code.computed_tokens, code.loaded_tokens) == (2, 1, 30.0, 20.0)


def test_replicas_that_wait_for_a_cache_which_gives_nothing_are_stuck(store: Store) -> None:
    def waits(name: str, deferred: float, external_hits: float | None) -> Round:
        told = replace(ledger(T0 + 15, 100.0), external_hits=external_hits)
        return a_round(T0 + 15, key(name), counts=told, gauges=Gauges(deferred=deferred))

    rolled_up(
        store,
        waits("a", 3.0, external_hits=0.0),
        waits("b", 3.0, external_hits=512.0),
        waits("c", 0.0, external_hits=0.0),
        waits("d", 3.0, external_hits=None),
    )
    assert minute_of(store).stuck == ("a",)


def test_a_shared_cache_server_tells_for_all(store: Store) -> None:
    counts = {"stores_submitted": 4.0, "stores_completed": 3.0, "lookup_tokens": 90.0, "l1_found": 30.0}
    rolled_up(store, a_round(T0 + 15), shared(T0 + 15, **counts), shared(T0 + 30, **counts))
    found = minute_of(store)
    assert (found.stores_submitted, found.stores_completed, found.lookup_tokens) == (8.0, 6.0, 180.0)
    assert (found.found_l1, found.found_l2) == (60.0, None)
    assert (found.replicas, found.readable, found.loaded_tokens) == (1, 1, 200.0)


def test_hits_that_exceed_the_tokens_are_unknown(store: Store) -> None:
    rolled_up(store, a_round(T0 + 15, counts=ledger(T0 + 15, 100.0, l0_hits=90.0, external_hits=20.0)))
    assert minute_of(store).hit_tokens is None


@pytest.mark.parametrize(
    ("counts", "is_doubted"),
    [
        ({}, False),
        ({"processed_tokens": 100.0}, False),
        # lookups stay 0, and prompt tokens are processed
        ({"prompt_tokens": 0.0, "l0_hits": 0.0, "processed_tokens": 100.0}, True),
        ({"prompt_tokens": 0.0, "l0_hits": 0.0, "processed_tokens": 0.0}, False),
        # 20 of 100 tokens came from below: 25 more of what no hit tells are where counters of a page may lie apart
        ({"l0_hits": 0.0, "cached_by_source": 45.0}, False),
        ({"l0_hits": 0.0, "cached_by_source": 46.0}, True),
        ({"l0_hits": 1.0, "cached_by_source": 70.0}, False),
        ({"counter_resets": 1}, True),
    ],
)
def test_hits_of_counters_that_contradict_each_other_are_unknown(
    store: Store, counts: dict[str, float], is_doubted: bool
) -> None:
    told = replace(ledger(T0 + 15, 100.0), **counts)  # type: ignore[arg-type]
    rolled_up(store, a_round(T0 + 15, counts=told), a_round(T0 + 15, key("b")), a_round(T0 + 15, key("a", "code")))
    found = minute_of(store)
    assert ((found.l0, found.hit_tokens) == (None, None)) is is_doubted
    assert found.requests == 20.0
    assert minute_of(store, Subject("east", "code")).hit_tokens == 700.0, "another endpoint's are its own"
    assert store.scene(T0, "west").minutes == {}
    # and nothing is learned from them later
    store.append([a_round(T0 + 615, key(name, one)) for name, one in (("a", "chat"), ("b", "chat"), ("a", "code"))])
    store.rollup(T0 + 1200, LIMITS)
    history = store.hit_history(T0, T0 + 1200, "east").set_index(["at", "endpoint"])[["hit_tokens", "l0", "requests"]]
    (chat, code, later, _) = history.to_numpy().tolist()
    assert (np.isnan(chat[0]), np.isnan(chat[1]), chat[2]) == (found.hit_tokens is None, is_doubted, 20.0)
    assert (code, later) == ([700.0, 500.0, 10.0], [1400.0, 1000.0, 20.0])


def test_an_endpoint_without_a_round_is_there_with_nothing_known(store: Store) -> None:
    store.declare("east", [endpoint(), endpoint("code", "abc")], [], "config", "test")
    rolled_up(store, a_round(T0 + 15, key("b")))
    scene = store.scene(T0)
    assert scene.minutes[Subject("east", "code")] == Minute(T0, replicas=3)
    assert (scene.minutes[CHAT].replicas, scene.minutes[CHAT].readable) == (2, 1)
    assert store.scene(T0, "west").minutes == {}


def test_restarts_are_counted_in_their_minute(store: Store) -> None:
    again = TokenLedger(T0 + 15, T0 + 30, prompt_tokens=1.0, engine_scrapes=1, restarts=1)
    rolled_up(store, a_round(T0 + 15), a_round(T0 + 30, counts=again), a_round(T0 + 75))
    assert [minute_of(store, at=at).restarts for at in (T0, T0 + 60)] == [1, 0]


@pytest.mark.parametrize(
    ("kind", "is_changed"),
    [
        (EventKind.ROUTING_CHANGED, True),
        (EventKind.SIZE_CHANGED, True),
        (EventKind.IMAGE_CHANGED, True),
        (EventKind.ROLLOUT, True),
        (EventKind.SCALED_OUT, True),
        (EventKind.SCALED_IN, False),
        (EventKind.RESTART, False),
    ],
)
def test_changes_mark_their_minute(store: Store, kind: EventKind, is_changed: bool) -> None:
    rolled_up(store, a_round(T0 + 15), a_round(T0 + 75), a_round(T0 + 15, key(endpoint="code")))
    store.sight(sighting(T0 + 20), lambda *_: [event(T0 + 10, "x", kind=kind, endpoint="chat")])
    assert minute_of(store).is_changed is is_changed
    assert not minute_of(store, at=T0 + 60).is_changed
    assert not minute_of(store, Subject("east", "code")).is_changed


def test_a_change_that_is_seen_late_marks_the_minute_in_which_it_is_seen_too(store: Store) -> None:
    rolled_up(store, a_round(T0 + 15), a_round(T0 + 75))
    happened = [
        event(T0 + 10, "x", kind=EventKind.ROLLOUT, endpoint="chat"),
        event(T0 - 3600, "y", kind=EventKind.ROLLOUT, endpoint="code"),
    ]
    store.sight(sighting(T0 + 70), lambda *_: happened)
    assert [minute_of(store, at=at).is_changed for at in (T0, T0 + 60)] == [True, True]
    store.declare("east", [endpoint("code")], [], "config", "test")
    assert not minute_of(store, Subject("east", "code"), T0 + 60).is_changed  # that was an hour ago


def test_a_counter_that_means_something_else_is_restated_once(store: Store) -> None:
    def noted(at: float, note: Note, who: ReplicaKey | None = None) -> Round:
        return a_round(at, who, counts=TokenLedger(at - 15, at, prompt_tokens=1.0, notes=frozenset({note})))

    old = Note(NoteCode.MEANING_CHANGED, "external queries count L0's hits too", "vLLM 0.11.1")
    change = Note(NoteCode.MEANING_CHANGED, "preempted requests were counted twice", "vLLM 0.11.1 before, now 0.32.0")
    other = Note(NoteCode.SCRAPE_GAP, "a scrape is missing", "meaning_changed")
    rolled_up(
        store,
        noted(T0 - 7230, old),  # an outage of two hours, after which the same note is no news
        noted(T0 + 15, old),
        noted(T0 + 60, old, key("b")),
        noted(T0 + 75, change),
        noted(T0 + 15, other, key(endpoint="code")),
    )
    assert [minute_of(store, at=at).is_restated for at in (T0 - 7260, T0, T0 + 60)] == [True, False, True]
    assert not minute_of(store, Subject("east", "code")).is_restated


def test_a_pool_counts_with_its_last_reading_unless_that_is_old(store: Store) -> None:
    def read(at: float, name: str, used: float) -> Round:
        who = ReplicaKey("east", POOL, name)
        nothing = TokenLedger(at - 15, at)
        return Round(who, at, nothing, Answer.NO_ENGINE, (), pool=PoolAccount(100.0, 100 - used, used, 3.0, 0.0))

    store.declare("east", [], [Replica(ReplicaKey("east", POOL, name), ()) for name in "xy"], "config", "test")
    store.append([read(T0 + 15, "x", 10.0), read(T0 + 60, "x", 20.0), read(T0 + 75, "x", 30.0), read(T0 + 15, "y", 5)])
    assert store.scene(T0).pools == {Subject("east", POOL, "x"): PoolAccount(100.0, 80.0, 20.0, 3.0, 0.0)}
    assert set(store.scene(T0, stale_after_seconds=46).pools) == {Subject("east", POOL, name) for name in "xy"}
    assert store.scene(T0).minutes == {}
    assert store.scene(T0, "west").pools == {}


def test_alerts_that_fire_are_part_of_the_scene(store: Store) -> None:
    store.save_alerts([firing(), pending(rule="no_data")], [], T0)
    assert store.scene(T0).firing == {firing().key}
    assert store.scene(T0, "west").firing == frozenset()


def test_hits_of_the_past_come_in_buckets_of_ten_minutes(store: Store) -> None:
    assert store.hit_history(T0, T0 + 6000).empty
    assert store.rolled_up_to() is None
    rounds = [
        a_round(T0 + 60 * n - 30, key(endpoint=name), prompt=100.0) for n in range(1, 31) for name in ("chat", "code")
    ]
    store.append([*rounds, a_round(T0 + 60, key("b", "code"), counts=TokenLedger(T0, T0 + 60, engine_scrapes=1))])
    store.rollup(T0 + 1800, LIMITS)
    assert store.rolled_up_to() == T0 + 1800
    found = store.hit_history(T0, T0 + 1799)
    assert [at.timestamp() for at in found["at"]] == [T0, T0, T0 + 600, T0 + 600]
    assert found["endpoint"].tolist() == ["chat", "code"] * 2
    # ten rounds of 100 tokens, of which 50 from L0 and 20 from below; 10 requests each
    assert found["prompt_tokens"].tolist()[0] == 1000.0
    assert found["hit_tokens"].tolist()[0] == 700.0
    assert found["l0"].tolist()[0] == 500.0
    assert found["requests"].tolist()[0] == 100.0
    assert np.isnan(found["hit_tokens"].tolist()[1])  # a readable replica can't tell its own
    assert len(store.hit_history(T0, T0 + 1800)) == 6
    assert store.hit_history(T0 + 1, T0 + 1800, "west").empty


def test_the_minutes_of_a_scene_are_kept_as_long_as_minutes_are(store: Store) -> None:
    rolled_up(store, a_round(T0 + 15))
    store.prune(T0 + 10**4, dict.fromkeys(Resolution, 10**5) | {Resolution.RAW: 3600})
    assert minute_of(store).prompt_tokens == 1000.0
