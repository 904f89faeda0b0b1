"""Rounds appended and read back as accounts, on both databases."""

from __future__ import annotations

import pytest

from db import Store
from tests.support.rounds import T0, a_round, endpoint, histogram, key, ledger
from tierdeck.account import Answer, Gauges
from tierdeck.fleet import FLEET, Target
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note, NoteCode
from tierdeck.resolution import Resolution
from tierdeck.rounds import Scrape


@pytest.fixture
def declared(store: Store) -> Store:
    """A store that observes the replicas a and b of the endpoint chat."""
    store.declare("east", [endpoint()], [], "config", "test")
    return store


def test_rounds_of_a_window_are_added_up(declared: Store) -> None:
    declared.append([a_round(T0 + 15, prompt=1000.0), a_round(T0 + 30, prompt=500.0), a_round(T0 + 15, key("b"), 70.0)])
    (found,) = declared.accounts(T0, T0 + 60)
    a, b = found.replicas
    assert (found.cluster, found.endpoint, found.models, found.last_at) == ("east", "chat", ("m",), T0 + 30)
    assert (a.name, a.ledger.prompt_tokens, a.ledger.l0_hits) == ("a", 1500.0, 750.0)  # 1000 + 500; half of each
    assert (a.ledger.started_at, a.ledger.ended_at, a.ledger.engine_scrapes) == (T0, T0 + 30, 2)
    assert (b.name, b.ledger.prompt_tokens, b.ledger.host_hits) == ("b", 70.0, None)


def test_a_window_begins_after_its_start_and_holds_its_end(declared: Store) -> None:
    declared.append([a_round(T0, prompt=1.0), a_round(T0 + 15, prompt=10.0), a_round(T0 + 30, prompt=100.0)])
    (found,) = declared.accounts(T0, T0 + 15)
    assert found.replicas[0].ledger.prompt_tokens == 10.0


def test_a_window_knows_the_requests_that_were_open_at_its_edges(declared: Store) -> None:
    def busy(at: float, running: float | None) -> None:
        declared.append([a_round(at, gauges=Gauges(running=running, waiting=1.0))])

    for at, running in ((T0 - 15, 3.0), (T0, None), (T0 + 15, 8.0), (T0 + 30, 5.0)):
        busy(at, running)
    found = declared.accounts(T0, T0 + 30)[0].replicas[0].ledger
    assert (found.open_at_start, found.open_at_end) == (4.0, 6.0)  # 3 + 1, as last told before; 5 + 1
    found = declared.accounts(T0, T0 + 30, stale_after_seconds=10)[0].replicas[0].ledger
    assert (found.open_at_start, found.open_at_end) == (None, 6.0)


def test_the_same_round_twice_counts_once(declared: Store) -> None:
    rounds = [a_round(T0 + 15, ttft=histogram(1, 2, 0, 0, 0)), a_round(T0 + 30, prompt=None)]
    declared.append(rounds)
    accounts, status = declared.accounts(T0, T0 + 60), declared.target_status()
    declared.append(rounds)
    assert declared.accounts(T0, T0 + 60) == accounts
    assert declared.target_status().equals(status)


def test_a_replica_that_was_never_scraped_answers_nothing(declared: Store) -> None:
    (found,) = declared.accounts(T0, T0 + 60)
    assert [one.answer for one in found.replicas] == [Answer.NOTHING, Answer.NOTHING]
    assert found.replicas[0].ledger == TokenLedger(T0, T0 + 60)
    assert (found.last_at, found.models, found.shared) == (None, (), None)


def test_a_last_round_that_is_too_old_is_no_answer(declared: Store) -> None:
    declared.append([a_round(T0 + 15)])
    fresh = declared.accounts(T0, T0 + 60, stale_after_seconds=45)[0].replicas[0]
    stale = declared.accounts(T0, T0 + 61, stale_after_seconds=45)[0].replicas[0]
    assert (fresh.answer, stale.answer) == (Answer.ENGINE, Answer.NOTHING)
    assert stale.ledger.prompt_tokens == 1000.0


def test_a_baseline_is_kept_for_its_gauges_and_its_answer(declared: Store) -> None:
    declared.append([a_round(T0 + 15, counts=TokenLedger(T0 + 15, T0 + 15), gauges=Gauges(0.5, running=3.0))])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0]
    assert (found.answer, found.gauges.running, found.ledger.prompt_tokens) == (Answer.ENGINE, 3.0, None)


def test_each_gauge_has_its_last_value(declared: Store) -> None:
    told = Gauges(0.5, 1000.0, 3.0, 1.0, 7.0, 8.0)
    declared.append([a_round(T0 + 15, gauges=told), a_round(T0 + 30, gauges=Gauges(running=4.0)), a_round(T0 + 45)])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0]
    # vLLM was read at 45 without telling its usage, so that the older usage is not true any more
    assert found.gauges == Gauges(None, 1000.0, 4.0, 1.0, 7.0, 8.0)


def test_a_gap_keeps_the_gauges_and_begins_no_new_series(declared: Store) -> None:
    declared.append([a_round(T0 + 15, gauges=Gauges(0.5, 1000.0, 3.0)), a_round(T0 + 30, prompt=None)])
    found = declared.accounts(T0, T0 + 60)[0]
    assert found.replicas[0].gauges == Gauges(0.5, 1000.0, 3.0)
    assert found.replicas[0].answer is Answer.NOTHING
    assert declared.sizes().set_index("table").loc["series", "rows"] == 1


def test_what_happened_since_the_last_restart_is_told(declared: Store) -> None:
    restarted = ledger(T0 + 30, 200.0, restarts=1, prompt_tokens_since_restart=200.0, requests_since_restart=2.0)
    again = ledger(T0 + 45, 30.0, restarts=2, prompt_tokens_since_restart=30.0, requests_since_restart=None)
    declared.append([a_round(T0 + 15), a_round(T0 + 30, counts=restarted)])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0].ledger
    assert (found.restarts, found.prompt_tokens_since_restart, found.requests_since_restart) == (1, 200.0, 2.0)
    declared.append([a_round(T0 + 45, counts=again), a_round(T0 + 60, prompt=4.0)])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0].ledger
    # 30 at the restart and 4 after it; requests at the restart are not known, 10 after it
    assert (found.restarts, found.prompt_tokens_since_restart, found.requests_since_restart) == (3, 34.0, 10.0)


def test_ttft_without_observations_differs_from_ttft_that_is_not_exported(declared: Store) -> None:
    declared.append([a_round(T0 + 15, ttft=histogram(0, 0, 0, 0, 0, total=0.0)), a_round(T0 + 15, key("b"))])
    a, b = declared.accounts(T0, T0 + 60)[0].replicas
    assert a.ttft == histogram(0, 0, 0, 0, 0, total=0.0)
    assert b.ttft is None


def test_ttft_of_several_layouts_is_merged_on_shared_bounds(declared: Store) -> None:
    other = histogram(4, 0, 1, bounds=(0.25, 2.0))
    declared.append([a_round(T0 + 15, ttft=histogram(1, 2, 0, 0, 3)), a_round(T0 + 30, ttft=other)])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0].ttft
    # both have 0.25: 1 + 2 below it and 3 above in the first, 4 and 1 in the second
    assert found is not None
    assert (found.bounds, found.counts, found.layouts_differ) == ((0.25,), (7.0, 4.0), True)


def test_an_empty_ttft_of_another_layout_still_limits_the_bounds(declared: Store) -> None:
    empty = histogram(0, 0, 0, bounds=(0.25, 2.0), total=0.0)
    declared.append([a_round(T0 + 15, ttft=histogram(1, 2, 0, 0, 3)), a_round(T0 + 30, ttft=empty)])
    found = declared.accounts(T0, T0 + 60)[0].replicas[0].ttft
    assert found is not None
    assert (found.bounds, found.counts, found.layouts_differ) == ((0.25,), (3.0, 3.0), True)


def test_notes_are_united(declared: Store) -> None:
    renamed, ignored = Note(NoteCode.RENAMED, "ä name", "x"), Note(NoteCode.ROUTER_SERIES_IGNORED, "b")
    one, two = (
        TokenLedger(T0, T0 + 15, notes=frozenset({renamed})),
        TokenLedger(T0 + 15, T0 + 30, notes=frozenset({renamed, ignored})),
    )
    declared.append([a_round(T0 + 15, counts=one), a_round(T0 + 30, counts=two)])
    assert declared.accounts(T0, T0 + 60)[0].replicas[0].ledger.notes == {renamed, ignored}


def test_the_shared_cache_server_stands_apart(store: Store) -> None:
    store.declare("east", [endpoint(replicas=("a", FLEET))], [], "config", "test")
    note = Note(NoteCode.RENAMED, "n")
    shared = TokenLedger(T0, T0 + 15, l1_found=5.0, cache_at_start=True, cache_at_end=True, notes=frozenset({note}))
    store.append([a_round(T0 + 15), a_round(T0 + 15, key(FLEET), counts=shared, answer=Answer.NO_ENGINE)])
    (found,) = store.accounts(T0, T0 + 60)
    assert [one.name for one in found.replicas] == ["a"]
    assert found.shared == shared
    assert found.notes == (note,)


def test_shared_sources_without_a_cache_are_no_shared_ledger(store: Store) -> None:
    store.declare("east", [endpoint(replicas=("a", FLEET))], [], "config", "test")
    store.append([a_round(T0 + 15, key(FLEET), counts=TokenLedger(T0, T0 + 15), answer=Answer.NO_ENGINE)])
    assert store.accounts(T0, T0 + 60)[0].shared is None


def test_replicas_that_were_removed_have_departed(declared: Store) -> None:
    declared.append([a_round(T0 + 15), a_round(T0 + 15, key("b"))])
    declared.declare("east", [endpoint(replicas=("b", "c"))], [], "config", "test")
    (found,) = declared.accounts(T0, T0 + 600)
    assert [one.name for one in found.replicas] == ["b", "c"]
    assert [(one.name, one.answer, one.ledger.prompt_tokens) for one in found.departed] == [
        ("a", Answer.ENGINE, 1000.0)
    ]


def test_a_new_model_of_a_replica_goes_on_with_its_account(declared: Store) -> None:
    before, after = a_round(T0 + 15), a_round(T0 + 30)
    declared.append([before])
    declared.append([type(after)(**{**{n: getattr(after, n) for n in after.__slots__}, "model": "n"})])
    (found,) = declared.accounts(T0, T0 + 60)
    assert found.models == ("m", "n")
    assert found.replicas[0].ledger.prompt_tokens == 2000.0


def test_accounts_can_be_asked_for_one_cluster_or_endpoint(store: Store) -> None:
    store.declare("east", [endpoint("chat"), endpoint("code")], [], "config", "test")
    store.declare("west", [endpoint("chat", cluster="west")], [], "config", "test")
    assert [(one.cluster, one.endpoint) for one in store.accounts(T0, T0 + 1)] == [
        ("east", "chat"),
        ("east", "code"),
        ("west", "chat"),
    ]
    assert [(one.cluster, one.endpoint) for one in store.accounts(T0, T0 + 1, "east", "code")] == [("east", "code")]
    assert [(one.cluster, one.endpoint) for one in store.accounts(T0, T0 + 1, "west")] == [("west", "chat")]


def test_memories_are_those_of_the_newest_rounds(declared: Store) -> None:
    declared.append([a_round(T0 + 30), a_round(T0 + 15), a_round(T0 + 15, key("b"))])
    declared.append([a_round(T0 + 20)])  # late
    assert declared.memories("east") == {
        key("a"): {"at": T0 + 30, "counters": {"prompt_tokens": T0 + 30}},
        key("b"): {"at": T0 + 15, "counters": {"prompt_tokens": T0 + 15}},
    }
    assert declared.memories("west") == {}
    assert (declared.last_at(), declared.last_at("east"), declared.last_at("west")) == (T0 + 30, T0 + 30, None)


def test_a_store_of_another_process_sees_the_rows(declared: Store) -> None:
    declared.append([a_round(T0 + 15)])
    assert declared.accounts(T0, T0 + 60)[0].replicas[0].ledger.prompt_tokens == 1000.0


def test_all_or_nothing_is_written(declared: Store) -> None:
    bad = Scrape(Target(key(), "vllm", "http://a"), T0 + 30, True, reason=None)  # type: ignore[arg-type]
    good = a_round(T0 + 30)
    broken = type(good)(**{**{n: getattr(good, n) for n in good.__slots__}, "scrapes": (bad,)})
    with pytest.raises(Exception, match=r"(?i)null"):
        declared.append([a_round(T0 + 15), broken])
    assert declared.last_at() is None
    assert declared.accounts(T0, T0 + 60)[0].last_at is None


def test_target_status_tells_the_last_scrape_of_every_declared_target(declared: Store) -> None:
    rounds = [a_round(T0 + 15), a_round(T0 + 30, prompt=None), a_round(T0 + 45, prompt=None, reason="timed out")]
    declared.append(rounds)
    frame = declared.target_status()
    a, b = frame.to_dict("records")
    assert (a["cluster"], a["endpoint"], a["replica"], a["target"], a["kind"]) == ("east", "chat", "a", "vllm", "vllm")
    assert (a["url"], a["reason"], a["answered"]) == ("http://a:8000/metrics", "timed out", False)
    assert a["last_attempt_at"].timestamp() == T0 + 45
    assert a["last_success_at"].timestamp() == T0 + 15
    assert (a["consecutive_failures"], a["body_bytes"], a["duration_seconds"]) == (2, 2048, 0.01)
    assert b["reason"] == ""
    assert frame["last_attempt_at"].isna().tolist() == [False, True]
    declared.append([a_round(T0 + 60)])
    assert declared.target_status()["consecutive_failures"].tolist()[0] == 0
    assert declared.target_status("west").empty


def test_a_process_that_signs_off_has_stopped_until_it_beats_again(store: Store) -> None:
    def stopped() -> list[bool]:
        return list(store.processes()["stopped_at"].notna())

    store.beat("collectors", "host 1:42", "0.1", T0, T0 + 5)
    store.beat("collectors", "host-2:42", "0.1", T0, T0 + 4)
    store.sign_off("collectors", "host 1:42", T0 + 7)
    assert store.processes()["stopped_at"].iloc[0].timestamp() == T0 + 7
    assert stopped() == [True, False]
    store.beat("collectors", "host 1:42", "0.1", T0 + 60, T0 + 65)
    assert stopped() == [False, False]
    store.sign_off("collectors", "host 1:42", T0 + 70)
    assert stopped() == [True, False]
    store.prune(T0 + 500, dict.fromkeys(Resolution, 100))
    store.beat("collectors", "host 1:42", "0.1", T0, T0 + 1)
    assert stopped() == [False]


def test_processes_tell_their_last_beat(store: Store) -> None:
    assert store.processes().empty
    store.beat("collectors", "host-1", "0.1", T0, T0 + 5)
    store.beat("collectors", "host-1", "0.1", T0, T0 + 20)
    store.beat("alerting", "host-2", "0.1", T0, T0 + 10)
    frame = store.processes()
    assert frame["name"].tolist() == ["collectors", "alerting"]
    assert [at.timestamp() for at in frame["beat_at"]] == [T0 + 20, T0 + 10]
