"""Alerts in the store: one open one per key, a history, acknowledgements; on both databases."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest

from db import Store
from tests.support.alerts import CHAT, firing, notice, pending, resolved, silence
from tests.support.rounds import T0
from tests.support.stores import Postgres, Sqlite
from tierdeck.alerts.alert import Acknowledgement, Alert, AlertState, Subject
from tierdeck.alerts.notice import NoticeKind
from tierdeck.errors import UsageError
from tierdeck.resolution import Resolution

CODE = Subject("east", "inference/code", "L2")
POOL = Subject("west", "_pool", "curvine")
KEEP = dict.fromkeys(Resolution, 10**6)


def save(store: Store, *changed: Alert, at: float = T0) -> list[Alert]:
    return store.save_alerts(changed, [], at)


def test_an_alert_comes_back_exactly(store: Store) -> None:
    some = [firing(), pending(CODE), firing(POOL, "pool_filling")]
    saved = save(store, *some)
    assert [replace(one, id=0) for one in saved] == some
    assert len({one.id for one in saved}) == 3
    assert 0 not in {one.id for one in saved}
    assert store.alert(saved[0].id) == saved[0]
    assert store.alert(10**6) is None
    assert {one.id for one in store.open_alerts()} == {one.id for one in saved}
    assert store.open_alerts("west") == [saved[2]]


def test_an_alert_keeps_its_id_through_its_life_and_a_new_one_gets_another(store: Store) -> None:
    (first,) = save(store, pending())
    (second,) = save(store, replace(firing(at=T0 + 240), id=first.id))
    (third,) = save(store, replace(resolved(second, T0 + 900), id=first.id))
    assert first.id == second.id == third.id
    assert store.open_alerts() == []
    (again,) = save(store, pending(at=T0 + 1000))
    assert again.id > first.id
    assert store.alert_steps(first.id) == [
        (T0, "pending", "25 points below the usual"),
        (T0 + 240, "firing", "25 points below the usual"),
        (T0 + 900, "resolved", "25 points below the usual"),
    ]


def test_saving_without_a_change_leaves_no_step(store: Store) -> None:
    (one,) = save(store, firing())
    save(store, replace(one, depth=0.3), at=T0 + 60)
    assert len(store.alert_steps(one.id)) == 1
    found = store.alert(one.id)
    assert found is not None
    assert found.depth == 0.3


def test_what_keeps_an_alert_from_being_said_is_part_of_its_history(store: Store) -> None:
    (one,) = save(store, replace(firing(), suppressed_by="l2_outage"), at=T0 + 1)
    (one,) = save(store, replace(one, suppressed_by="flapping"), at=T0 + 2)
    save(store, replace(one, suppressed_by=""), at=T0 + 3)
    assert store.alert_steps(one.id)[1:] == [
        (T0 + 1, "suppressed", "l2_outage"),
        (T0 + 2, "suppressed", "flapping"),
        (T0 + 3, "unsuppressed", "flapping"),
    ]


def test_a_second_open_alert_of_a_key_is_the_first_one(store: Store) -> None:
    (one,) = save(store, pending())
    assert [each.id for each in save(store, firing(), pending(CODE), pending(CODE, at=T0 + 60))] == [
        one.id,
        one.id + 1,
        one.id + 1,
    ]
    assert len(store.open_alerts()) == 2


def test_an_alert_may_end_and_begin_anew_in_one_call(store: Store) -> None:
    (one,) = save(store, firing())
    ended, begun = save(store, resolved(one, T0 + 60), pending(at=T0 + 60))
    assert ended.id == one.id
    assert begun.id != one.id
    assert store.open_alerts() == [begun]


def test_who_was_overtaken_takes_nothing_back(store: Store) -> None:
    (one,) = save(store, firing())
    (ended,) = save(store, resolved(one, T0 + 60))
    assert save(store, one) == [ended]
    assert store.open_alerts() == []
    (begun,) = save(store, firing(at=T0 + 120))
    assert save(store, pending(at=T0 + 130)) == [begun]


def test_an_id_that_nobody_gave_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="no alert 77"):
        save(store, replace(pending(), id=77))


def test_alerts_of_a_span_are_those_that_were_open_in_it(store: Store) -> None:
    (old,) = save(store, firing(at=T0 - 5000))
    (old,) = save(store, resolved(old, T0 - 4000))
    (current,) = save(store, firing(CODE))
    (brief,) = save(store, pending(POOL, at=T0 - 4500))
    save(store, resolved(brief, T0 - 4400))  # never fired
    (waiting,) = save(store, pending(POOL, at=T0 + 10))
    assert store.alerts(T0 - 10**4, T0 + 100) == [waiting, current, old]
    assert store.alerts(T0 - 3999, T0 + 100) == [waiting, current]
    assert store.alerts(T0 - 4000, T0) == [current, old]
    assert store.alerts(T0 - 10**4, T0 + 100, limit=1) == [waiting]
    assert store.alerts(T0 - 10**4, T0 + 100, "east") == [current, old]
    assert store.alerts(T0 - 10**4, T0 + 100, "east", CODE.endpoint) == [current]
    assert store.alerts(T0 - 10**4, T0 + 100, rule="pool_filling") == []


def test_an_acknowledgement_stays_whatever_the_alerting_process_writes(store: Store) -> None:
    (one,) = save(store, firing())
    ack = Acknowledgement("ada", T0 + 30, "looking")
    assert store.acknowledge(one.id, ack) == replace(one, acknowledged=ack)
    assert save(store, replace(one, depth=0.4), at=T0 + 60)[0].acknowledged == ack
    assert store.open_alerts()[0].acknowledged == ack
    assert store.unacknowledge(one.id, "bob", T0 + 90).acknowledged is None
    assert save(store, replace(one, acknowledged=ack), at=T0 + 95)[0].acknowledged is None
    assert store.alert_steps(one.id)[1:] == [
        (T0 + 30, "acknowledged", "ada: looking"),
        (T0 + 90, "unacknowledged", "bob"),
    ]
    audit = store.audit()
    assert audit["action"].tolist() == ["unacknowledge", "acknowledge"]
    assert audit["actor"].tolist() == ["bob", "ada"]
    assert set(audit["subject"]) == {f"alert {one.id}"}


def test_what_is_over_can_not_be_acknowledged(store: Store) -> None:
    (one,) = save(store, firing())
    with pytest.raises(UsageError, match="is not acknowledged"):
        store.unacknowledge(one.id, "ada", T0)
    save(store, resolved(one, T0 + 60))
    with pytest.raises(UsageError, match="is over"):
        store.acknowledge(one.id, Acknowledgement("ada", T0))
    with pytest.raises(UsageError, match="is over"):
        store.unacknowledge(one.id, "ada", T0)
    with pytest.raises(UsageError, match="no alert 99"):
        store.acknowledge(99, Acknowledgement("ada", T0))
    assert store.audit().empty


def test_two_processes_that_open_the_same_alerts_open_each_once(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(2), context.SimpleQueue()
    processes = [context.Process(target=_open, args=(url, start, told, order)) for order in (1, -1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert told.get() == told.get()
    with Store.open(url) as store:
        assert len(store.open_alerts()) == 10
        assert store.notices_waiting() == 10


def _open(url: str, start, told, order: int) -> None:  # type: ignore[no-untyped-def]
    """The same ten alerts with a notice each, in one order or the other."""
    some = [firing(Subject("east", f"chat-{number}")) for number in range(10)][::order]
    said = [notice(one.subject.endpoint, one, kind=NoticeKind.FIRING) for one in some]
    with Store.open(url) as store:
        start.wait()
        told.put({one.subject.endpoint: one.id for one in store.save_alerts(some, said, T0)})


def test_alerts_that_are_over_go_with_all_that_was_said_of_them(store: Store) -> None:
    (old,) = store.save_alerts([firing()], [notice("old", firing())], T0)
    (new,) = store.save_alerts([firing(CODE)], [notice("new", firing(CODE))], T0)
    (still,) = store.save_alerts([firing(POOL, at=T0 - 10**6)], [notice("open", firing(POOL), at=T0 - 10**6)], T0)
    save(store, resolved(old, T0 + 99), resolved(new, T0 + 100))
    store.add_notice(notice("test", at=T0 + 99))
    store.add_notice(notice("later test", at=T0 + 100))
    assert store.prune(T0 + 200, KEEP) == 0
    assert store.prune(T0 + 200, KEEP, alert_seconds=100) == 2  # an alert and a test; the alert's notice goes with it
    assert store.alert(old.id) is None
    assert store.alert_steps(old.id) == []
    assert store.alerts(T0 - 10**7, T0 + 10**6) == [store.alert(new.id), still]
    assert [one.key for one in store.notices()] == ["later test", "open", "new"]
    save(store, resolved(still, T0 + 100))
    store.prune(T0 + 1000, KEEP, alert_seconds=100)
    (first,) = save(store, pending())
    assert first.id > max(old.id, new.id, still.id)  # an id is never given again, even to an empty store


def test_silences_that_ended_long_ago_go(store: Store) -> None:
    store.add_silence(silence(T0, 100))
    store.add_silence(silence(T0, 101))
    early = store.add_silence(silence(T0, 10**6))
    store.end_silence(early.id, "ada", T0 + 50)
    assert store.prune(T0 + 201, KEEP, alert_seconds=100) == 2
    assert [one.ends_at for one in store.silences()] == [T0 + 101]


def test_states_are_told_apart(store: Store) -> None:
    save(store, pending(), firing(CODE))
    assert {one.state for one in store.open_alerts()} == {AlertState.PENDING, AlertState.FIRING}
    assert {one.subject for one in store.open_alerts()} == {CHAT, CODE}
