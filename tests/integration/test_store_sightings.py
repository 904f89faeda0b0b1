"""What clusters tell: remembered exactly, each event once, whoever saw it; on both databases."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import text

from db import BlindPart, Sighted, Store
from db.database import Database, parse_url
from tests.support.deployed import NAME, configuration, deployed, event, node, pod, pool, sighting
from tests.support.rounds import T0
from tests.support.stores import Postgres, Sqlite
from tierdeck.deployed import Blind, Deployed, Remembered, Sighting
from tierdeck.events import Event, EventKind
from tierdeck.fleet import POOL
from tierdeck.resolution import Resolution


def nothing(before: Remembered, now: Sighting) -> Sequence[Event]:
    return ()


def words_of(store: Store, **wanted: object) -> list[str]:
    return store.events(T0 - 10**6, T0 + 10**6, **wanted)["words"].tolist()  # type: ignore[arg-type]


def test_what_was_seen_is_remembered_exactly(store: Store) -> None:
    seen = sighting(
        T0, deployed(pods=[pod(), pod("chat-1")]), pool(), nodes=[node(), node("node-2", pressures=["NotReady"])]
    )
    before: list[Remembered] = []

    def remember(known: Remembered, _: Sighting) -> Sequence[Event]:
        before.append(known)
        return ()

    assert [store.sight(replace(seen, at=at), remember) for at in (T0, T0 + 10)] == [0, 0]
    first, second = before
    assert first == Remembered(is_first=True)
    assert second.at == T0
    assert second.deployed == {one.key: one for one in seen.deployed}
    assert second.nodes == {one.name: one for one in seen.nodes}
    assert not second.is_first
    assert store.deployed("east") == [seen.deployed[1], seen.deployed[0]]  # by name: `_pool` comes before `inference`
    assert store.nodes() == list(seen.nodes)
    assert store.deployed("west") == []
    assert store.sighted() == [Sighted("east", T0 + 10, ())]


def test_what_is_no_longer_seen_is_forgotten(store: Store) -> None:
    store.sight(sighting(T0, deployed(), deployed("inference/code"), nodes=[node(), node("node-2")]), nothing)
    store.sight(sighting(T0 + 10, deployed(), nodes=[node("node-2")]), nothing)
    assert [one.endpoint for one in store.deployed()] == [NAME]
    assert [one.name for one in store.nodes()] == ["node-2"]


def test_clusters_leave_each_other_alone(store: Store) -> None:
    store.sight(sighting(T0, deployed(), nodes=[node()]), nothing)
    west = Sighting("west", T0, (deployed(cluster="west"),), unknown_kinds=("modeldeployments.inference.sagemaker",))
    assert store.sight(west, lambda known, _: [event(T0, "same", cluster="west")] if known.is_first else []) == 1
    assert len(store.deployed()) == 2
    assert len(store.nodes()) == 1
    assert store.sighted("west") == [Sighted("west", T0, ("modeldeployments.inference.sagemaker",))]
    assert store.sight(sighting(T0 + 10, deployed()), lambda *_: [event(T0, "same")]) == 1  # a key is one cluster's


def test_an_event_is_written_once_however_often_it_is_seen(store: Store) -> None:
    some = [event(T0, "a"), event(T0 + 1, "b", words="once"), event(T0 + 2, "b", words="twice")]
    assert store.sight(sighting(T0 + 5), lambda *_: some) == 2
    assert store.sight(sighting(T0 + 6), lambda *_: [*some, event(T0 + 3, "c", words="new")]) == 1
    assert words_of(store) == ["new", "once", "vllm restarted: OOMKilled"]


def test_many_events_at_once_are_each_written_once(store: Store) -> None:
    many = [event(T0 + number, f"key {number}") for number in range(1200)]
    assert store.sight(sighting(T0), lambda *_: many[:700]) == 700
    assert store.sight(sighting(T0 + 1), lambda *_: many) == 500


def test_a_sighting_that_was_overtaken_changes_nothing(store: Store) -> None:
    newer = deployed(configured=configuration("roundrobin"))
    store.sight(sighting(T0 + 10, newer), nothing)
    assert store.sight(sighting(T0, deployed()), lambda *_: [event(T0, "back")]) is None
    assert store.deployed() == [newer]
    # after a clock that was an hour ahead was set right, it goes on
    store.sight(sighting(T0 + 3610, newer), nothing)
    assert store.sight(sighting(T0 + 20, deployed()), lambda known, _: [event(known.at, "right")]) == 1
    assert store.deployed() == [deployed()]
    assert len(store.events(T0 + 19, T0 + 20)) == 1  # nothing was seen after now


def test_a_comparison_that_fails_leaves_everything_as_it_was(store: Store) -> None:
    store.sight(sighting(T0, deployed()), nothing)

    def fails(*_: object) -> Sequence[Event]:
        raise ValueError("a fault of ours")

    with pytest.raises(ValueError, match="a fault of ours"):
        store.sight(sighting(T0 + 10, nodes=[node()]), fails)
    assert (store.deployed(), store.nodes(), store.sighted()[0].at) == ([deployed()], [], T0)


def test_events_are_read_newest_first_by_owner_kind_and_time(store: Store) -> None:
    some = [
        event(T0 + 10, "1", words="one"),
        event(T0 + 20, "2", EventKind.OOM, words="two"),
        event(T0 + 30, "3", EventKind.NODE_GONE, endpoint="", replica="", words="three"),
        event(T0 + 40, "4", endpoint=POOL, replica="curvine/main", words="four"),
    ]
    store.sight(sighting(T0 + 50), lambda *_: some)
    assert words_of(store) == ["four", "three", "two", "one"]
    assert words_of(store, limit=1) == ["four"]
    assert words_of(store, cluster="west") == []
    assert words_of(store, endpoint=NAME) == ["two", "one"]
    assert words_of(store, endpoint=(NAME, "")) == ["three", "two", "one"]
    assert words_of(store, kinds=[EventKind.OOM, EventKind.NODE_GONE]) == ["three", "two"]
    assert store.events(T0 + 10, T0 + 30)["words"].tolist() == ["three", "two"]  # (start, end]
    row = store.events(T0, T0 + 10).to_dict("records")[0]
    assert row.pop("at").isoformat() == "2023-11-14T22:20:10+00:00"
    assert row == {
        "cluster": "east", "endpoint": NAME, "replica": "chat-0", "kind": "restart", "subject": "Pod inference/chat-0",
        "words": "one", "detail": {"by": "kubelet"},
    }  # fmt: skip


def test_without_events_there_is_a_frame_with_columns(store: Store) -> None:
    found = store.events(T0, T0 + 1)
    assert found.empty
    assert found.columns.tolist() == ["at", "cluster", "endpoint", "replica", "kind", "subject", "words", "detail"]


def test_a_blind_part_is_told_with_the_time_since_when(store: Store) -> None:
    nodes, events = Blind("nodes", "forbidden", "- apiGroups: ['']"), Blind("events", "forbidden")
    store.sight(sighting(T0, blind=[nodes]), nothing)
    other = replace(nodes, reason="timed out", fix="")
    store.sight(sighting(T0 + 10, blind=[other, events]), nothing)
    assert store.blind() == [BlindPart("east", events, T0 + 10), BlindPart("east", other, T0)]
    store.sight(sighting(T0 + 20), nothing)
    assert store.blind() == []


def test_facts_of_an_older_version_have_the_defaults(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    with Store.open(url) as store:
        store.sight(sighting(T0, deployed(pods=[pod()])), nothing)
    database = Database(parse_url(url))
    with database.write() as connection:
        facts = json.loads(connection.execute(text("SELECT facts FROM deployed")).scalar_one())
        for name in ("owners", "claims", "changed_by", "problems", "model", "wanted"):
            del facts[name]
        del facts["pods"][0]["trouble"]
        facts["of_a_later_version"] = 1
        connection.execute(text("UPDATE deployed SET facts = :facts"), {"facts": json.dumps(facts)})
    database.close()
    wanted = replace(deployed(pods=[pod()]), owners=(), claims=(), changed_by="", problems=(), model="", wanted=None)
    with Store.open(url) as store:
        assert store.deployed() == [wanted]


def test_facts_that_are_as_they_were_are_not_written_again(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    with Store.open(url) as store:
        store.sight(sighting(T0, deployed(), deployed("inference/code")), nothing)
        store.sight(sighting(T0 + 10, deployed(), deployed("inference/code", pods=[pod()])), nothing)
    database = Database(parse_url(url))
    with database.read() as connection:
        rows = connection.execute(text("SELECT endpoint, seen_at FROM deployed ORDER BY endpoint")).all()
    database.close()
    assert [tuple(row) for row in rows] == [(NAME, T0), ("inference/code", T0 + 10)]


def test_two_who_see_the_same_at_once_write_each_event_once(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(2), context.SimpleQueue()
    processes = [context.Process(target=_watch, args=(url, start, told)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    with Store.open(url) as store:
        # 20 restarts of each of 10 pods; with what both say that they wrote, none is doubled or lost
        found = store.events(T0, T0 + 1000, limit=1000)
        assert len(found) == 200
        assert told.get() + told.get() == 200
        assert found["replica"].value_counts().to_dict() == {f"chat-{number}": 20 for number in range(10)}
        assert store.deployed() == [_after(20)]


def _watch(url: str, start, told) -> None:  # type: ignore[no-untyped-def]
    with Store.open(url) as store:
        start.wait()
        told.put(sum(store.sight(sighting(T0 + count, _after(count)), _restarts) or 0 for count in range(21)))


def _after(count: int) -> Deployed:
    return deployed(pods=[pod(f"chat-{number}", restarts=count) for number in range(10)])


def _restarts(before: Remembered, now: Sighting) -> list[Event]:
    """One for each restart that was not there before."""
    found = []
    for one in now.deployed:
        known = before.deployed.get(one.key)
        counted = {each.name: each.containers[0].restarts for each in known.pods} if known else {}
        found += [
            event(now.at, f"{each.uid} {number}", replica=each.name)
            for each in one.pods
            for number in range(counted.get(each.name, 0) + 1, each.containers[0].restarts + 1)
        ]
    return found


def test_events_past_their_retention_go(store: Store) -> None:
    store.sight(sighting(T0), lambda *_: [event(T0 - 100, "old", words="old"), event(T0 - 99, "new", words="new")])
    keep = dict.fromkeys(Resolution, 10**6)
    assert store.prune(T0, keep) == 0
    assert store.prune(T0, keep, event_seconds=99) == 1
    assert words_of(store) == ["new"]


def test_what_no_sighting_sees_is_told_once(store: Store) -> None:
    event = Event("east", "llm/chat", "", 1000.0, EventKind.L2_WITHHELD, "Deployment llm/chat", "no L2", "l2/1")
    assert store.tell("east", [event, event], 1001.0) == 1
    assert store.tell("east", [event], 1002.0) == 0
    assert store.sighted("east") == [], "telling is no sighting"
    assert list(store.events(0, 2000, "east")["words"]) == ["no L2"]
