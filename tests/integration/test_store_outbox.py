"""The outbox, leases and channels: each notice one sender's, one holder of a lease; on both databases."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest

from db import Store
from db.database import Database, parse_url
from db.notice_rows import take_notice
from tests.support.alerts import CHAT, firing, notice
from tests.support.rounds import T0
from tests.support.stores import Postgres, Sqlite
from tierdeck.alerts.notice import Notice, NoticeKind
from tierdeck.errors import UsageError


def take(store: Store, now: float, *channels: str) -> str | None:
    found = store.take_notice(now, channels or ("slack",), 30)
    return found.key if found else None


def test_a_notice_comes_back_exactly_and_only_once_by_its_key(store: Store) -> None:
    one = notice("a", kind=NoticeKind.TEST)
    assert store.add_notice(one)
    assert not store.add_notice(replace(one, channel="pager"))
    (found,) = store.notices()
    assert replace(found, id=0) == one
    assert found.id > 0


def test_a_new_alerts_notice_names_its_id(store: Store) -> None:
    alert = firing()
    some = [notice("a", alert, kind=NoticeKind.FIRING), notice("b", alert, channel="pager", kind=NoticeKind.FIRING)]
    (saved,) = store.save_alerts([alert], some, T0)
    assert [one.alert for one in store.notices(alert_id=saved.id)] == [saved, saved]
    store.save_alerts([saved], [replace(some[0], due_at=T0 + 50)], T0 + 10)
    assert len(store.notices()) == 2
    assert store.notices(alert_id=saved.id + 1) == []


def test_a_notice_tells_the_alert_as_it_was_when_it_was_written(store: Store) -> None:
    (saved,) = store.save_alerts([firing()], [notice("a", firing())], T0)
    store.save_alerts([replace(saved, depth=0.9)], [], T0 + 60)
    assert store.notices()[0].alert == saved


def test_alerts_and_notices_are_written_together_or_not_at_all(store: Store) -> None:
    (saved,) = store.save_alerts([firing()], [], T0)
    some = [replace(saved, depth=0.9), replace(firing(CHAT, "no_data"), id=99)]
    with pytest.raises(UsageError, match="no alert 99"):
        store.save_alerts(some, [notice("a")], T0)
    assert store.open_alerts() == [saved]
    assert store.notices() == []


def test_what_is_due_longest_is_taken_first_and_only_for_channels_that_there_are(store: Store) -> None:
    for key, at, channel in (("late", T0 + 5, "slack"), ("early", T0, "slack"), ("page", T0 - 5, "pager")):
        store.add_notice(notice(key, at=at, channel=channel))
    assert take(store, T0 - 1) is None
    assert take(store, T0 + 10) == "early"
    assert take(store, T0 + 10) == "late"
    assert take(store, T0 + 10) is None
    assert take(store, T0 + 10, "slack", "pager") == "page"
    assert store.take_notice(T0 + 10, (), 30) is None


def test_a_notice_that_was_sent_or_given_up_is_never_taken_again(store: Store) -> None:
    for key in ("a", "b"):
        store.add_notice(notice(key))
        assert take(store, T0) == key
    assert store.notices_waiting() == 2
    second, first = store.notices()
    store.notice_sent(first.id, T0 + 1)
    store.notice_failed(second.id, T0 + 1, "404 Not Found", None)
    assert store.notices_waiting() == 0
    assert take(store, T0 + 10**6) is None
    store.notice_failed(first.id, T0 + 2, "timed out", T0 + 3)  # somebody slower: the first outcome stays
    store.notice_sent(second.id, T0 + 2)
    second, first = store.notices()
    assert (first.sent_at, first.given_up_at, first.trouble, first.tries) == (T0 + 1, None, "", 1)
    assert (second.sent_at, second.given_up_at, second.trouble, second.tries) == (None, T0 + 1, "404 Not Found", 1)


def test_a_failed_notice_is_due_again_later_and_is_no_repetition(store: Store) -> None:
    store.add_notice(notice("a"))
    found = store.take_notice(T0, ["slack"], 30)
    assert found is not None
    assert (found.tries, found.may_repeat) == (1, False)
    store.notice_failed(found.id, T0 + 1, "503", T0 + 60)
    assert take(store, T0 + 59) is None
    again = store.take_notice(T0 + 60, ["slack"], 30)
    assert again is not None
    assert (again.tries, again.may_repeat, again.trouble, again.due_at) == (2, False, "503", T0 + 60)


def test_a_notice_whose_sender_ended_in_the_middle_may_be_a_repetition_from_then_on(store: Store) -> None:
    store.add_notice(notice("a"))
    assert take(store, T0) == "a"
    assert take(store, T0 + 29) is None
    again = store.take_notice(T0 + 30, ["slack"], 30)
    assert again is not None
    assert (again.tries, again.may_repeat) == (2, True)
    store.notice_failed(again.id, T0 + 31, "503", T0 + 40)
    third = store.take_notice(T0 + 40, ["slack"], 30)
    assert third is not None
    assert third.may_repeat


def test_a_notice_that_another_takes_at_this_moment_is_passed_over(postgres: Postgres) -> None:
    url = postgres.migrated()
    with Store.open(url) as store:
        for key in ("a", "b"):
            store.add_notice(notice(key))
        database = Database(parse_url(url))
        with database.write() as connection:  # neither committed nor waited for
            mine = take_notice(connection, T0, ["slack"], 30)
            other = store.take_notice(T0, ["slack"], 30)
            assert mine is not None
            assert other is not None
            assert {mine.key, other.key} == {"a", "b"}
            assert store.take_notice(T0, ["slack"], 30) is None
        database.close()
        assert [one.tries for one in store.notices()] == [1, 1]


def test_two_senders_never_take_the_same_notice(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    with Store.open(url) as store:
        for number in range(60):
            store.add_notice(notice(f"{number}"))
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(2), context.SimpleQueue()
    processes = [context.Process(target=_send, args=(url, start, told)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert sorted(told.get() + told.get(), key=int) == [f"{number}" for number in range(60)]
    with Store.open(url) as store:
        assert {one.tries for one in store.notices()} == {1}
        assert store.notices_waiting() == 0


def _send(url: str, start, told) -> None:  # type: ignore[no-untyped-def]
    found = []
    with Store.open(url) as store:
        start.wait()
        while one := store.take_notice(T0, ["slack"], 30):
            found.append(one.key)
            store.notice_sent(one.id, T0)
    told.put(found)


def test_a_lease_has_one_holder_until_it_runs_out_or_is_given_back(store: Store) -> None:
    assert store.hold_lease("alerting", "a", T0, 30)
    assert not store.hold_lease("alerting", "b", T0 + 29, 30)
    assert store.hold_lease("alerting", "a", T0 + 29, 30)
    assert not store.hold_lease("alerting", "b", T0 + 30, 30)
    assert store.hold_lease("other", "b", T0 + 30, 30)
    assert store.hold_lease("alerting", "b", T0 + 59, 30)
    assert not store.hold_lease("alerting", "a", T0 + 60, 30)
    store.drop_lease("alerting", "a")  # another's by now
    assert not store.hold_lease("alerting", "a", T0 + 60, 30)
    store.drop_lease("alerting", "b")
    assert store.hold_lease("alerting", "a", T0 + 60, 30)


def test_two_who_want_a_lease_at_once_get_it_one_at_a_time(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(2), context.SimpleQueue()
    processes = [context.Process(target=_hold, args=(url, start, told, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    both = told.get(), told.get()
    assert [sum(pair) for pair in zip(*both, strict=True)] == [1] * 30


def _hold(url: str, start, told, name: str) -> None:  # type: ignore[no-untyped-def]
    with Store.open(url) as store:
        start.wait()
        told.put([store.hold_lease(f"lease {number}", name, T0, 30) for number in range(30)])


def test_channels_are_those_declared_last_in_their_order(store: Store) -> None:
    def known() -> list[tuple[str, str, str]]:
        return [(one.cluster, one.name, one.kind) for one in store.channels()]

    store.declare_channels("east", [("team", "slack"), ("night", "pagerduty")])
    store.declare_channels("west", [("team", "discord")])
    assert known() == [("east", "team", "slack"), ("east", "night", "pagerduty"), ("west", "team", "discord")]
    store.declare_channels("east", [("night", "pagerduty"), ("log", "webhook")])
    assert known() == [("east", "night", "pagerduty"), ("east", "log", "webhook"), ("west", "team", "discord")]
    store.declare_channels("east", [])
    assert known() == [("west", "team", "discord")], "each cluster's process keeps its own"


def test_a_test_goes_out_by_the_channel_of_the_cluster_that_it_names(store: Store) -> None:
    store.add_notice(replace(notice("west's"), cluster="west"))
    store.add_notice(notice("anybody's"))
    assert [one.key for one in taken(store, "east")] == ["anybody's"]
    assert [one.key for one in taken(store, "west")] == ["west's"]


def taken(store: Store, cluster: str) -> list[Notice]:
    found = []
    while (one := store.take_notice(T0 + 1, ("slack",), 60.0, cluster)) is not None:
        found.append(one)
    return found


def test_a_cluster_takes_what_is_about_its_own_alerts_and_tests(store: Store) -> None:
    with_alert = firing()
    store.save_alerts([with_alert], [notice("a", with_alert, kind=NoticeKind.FIRING)], T0)
    assert store.take_notice(T0, ["slack"], 30, "west") is None
    assert store.take_notice(T0, ["slack"], 30, with_alert.subject.cluster) is not None
