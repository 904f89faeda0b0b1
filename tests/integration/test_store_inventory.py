"""Declaring what is observed, on both databases."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlalchemy import text

from db import Store
from db.database import Database, parse_url
from tests.support.rounds import T0, a_round, endpoint
from tests.support.stores import Postgres, Sqlite
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica, ReplicaKey, Role, Target


def pool(name: str = "main") -> Replica:
    key = ReplicaKey("east", POOL, name)
    return Replica(key, (Target(key, "curvine-master", f"http://{name}:9000/metrics"),))


def full_endpoint() -> Endpoint:
    """Everything that an endpoint can have."""
    keys = [ReplicaKey("east", "chat", name) for name in ("z", "a", FLEET)]
    versions = (("vllm", "0.32.0"), ("lmcache", "0.5.6"))
    replicas = (
        Replica(keys[0], (Target(keys[0], "vllm", "http://z/2"), Target(keys[0], "lmcache", "http://z/1"))),
        Replica(keys[1], (), Role.CONSUMER, versions),
        Replica(keys[2], (Target(keys[2], "router.1", "http://r/1"), Target(keys[2], "router.2", "http://r/2"))),
    )
    return Endpoint("east", "chat", replicas, "hyperpod", "llama", "kvaware", 131072)


def test_what_was_declared_comes_back_as_it_was(store: Store) -> None:
    wanted = [full_endpoint(), endpoint("code")]
    assert store.declare("east", wanted, [pool(), pool("spare")], "config", "ann")
    assert store.endpoints() == wanted
    assert store.endpoints("west") == []
    assert store.pools("east") == [pool(), pool("spare")]


def test_an_endpoint_may_have_no_replicas_and_a_pool_no_targets(store: Store) -> None:
    scaled = Endpoint("east", "inference/chat", (), "hyperpod", "llama", "prefixaware")
    waiting = Replica(ReplicaKey("east", POOL, "curvine/curvine"), ())
    assert store.declare("east", [scaled], [waiting], "cluster", "controller")
    assert (store.endpoints(), store.pools("east")) == ([scaled], [waiting])
    assert not store.declare("east", [scaled], [waiting], "cluster", "controller")


def test_the_same_again_changes_nothing_and_is_not_audited(store: Store) -> None:
    assert store.declare("east", [full_endpoint()], [pool()], "config", "ann")
    assert not store.declare("east", [full_endpoint()], [pool()], "config", "bob")
    assert store.audit()["actor"].tolist() == ["ann"]


def test_a_declaration_removes_what_it_no_longer_names(store: Store) -> None:
    store.declare("east", [full_endpoint(), endpoint("code")], [pool()], "config", "ann")
    store.declare("east", [replace(full_endpoint(), strategy="session")], [pool("new")], "config", "bob")
    assert [one.name for one in store.endpoints()] == ["chat"]
    assert store.pools() == [pool("new")]
    newest = store.audit().iloc[0]
    assert (newest["actor"], newest["action"], newest["subject"]) == ("bob", "declare", "east")
    assert json.loads(newest["detail"]) == {
        "origin": "config",
        "added": ["_pool/new"],
        "removed": ["code", "_pool/main"],
        "changed": ["chat"],
    }


def test_origins_and_clusters_leave_each_other_alone(store: Store) -> None:
    store.declare("east", [endpoint("chat")], [pool()], "config", "ann")
    store.declare("east", [endpoint("code")], [], "kubernetes", "ann")
    store.declare("west", [endpoint("chat", cluster="west")], [], "config", "ann")
    store.declare("east", [], [], "config", "ann")
    assert [(one.cluster, one.name) for one in store.endpoints()] == [("east", "code"), ("west", "chat")]
    assert store.pools() == []


def test_an_endpoint_has_one_origin(store: Store) -> None:
    store.declare("east", [endpoint("chat")], [pool()], "config", "ann")
    with pytest.raises(UsageError, match="chat in cluster east is already declared by config"):
        store.declare("east", [endpoint("chat")], [], "kubernetes", "ann")
    with pytest.raises(UsageError, match="_pool/main in cluster east is already declared by config"):
        store.declare("east", [], [pool()], "kubernetes", "ann")


@pytest.mark.parametrize(
    "wanted",
    [[endpoint("chat"), endpoint("chat")], [endpoint("chat", cluster="west")], [endpoint(POOL)]],
)
def test_names_that_do_not_fit_are_refused(store: Store, wanted: list[Endpoint]) -> None:
    with pytest.raises(UsageError, match="can't be declared in cluster east"):
        store.declare("east", wanted, [], "config", "ann")


def test_a_new_declaration_keeps_the_last_scrapes(store: Store) -> None:
    store.declare("east", [endpoint()], [], "config", "ann")
    store.append([a_round(T0 + 15)])
    store.declare("east", [endpoint(replicas=("a", "c"))], [], "config", "ann")
    status = store.target_status()
    assert status["replica"].tolist() == ["a", "c"]
    assert status["last_attempt_at"].notna().tolist() == [True, False]


def test_the_audit_log_is_read_newest_first_and_limited(store: Store) -> None:
    assert store.audit().columns.tolist() == ["at", "actor", "action", "subject", "detail"]
    for number in range(5):
        store.declare("east", [endpoint(f"e{number}")], [], "config", f"actor {number}")
    assert store.audit(limit=2)["actor"].tolist() == ["actor 4", "actor 3"]


def test_versions_are_those_that_processes_told_and_stated_ones_only_where_they_don_t(store: Store) -> None:
    declared = endpoint(replicas=("a", "b"))
    stated = tuple(replace(one, versions=(("vllm", "0.11.1"),)) for one in declared.replicas)
    declared = replace(declared, replicas=stated)
    store.declare("east", [declared], [], "config", "ann")
    store.append([a_round(T0 + 15, version="0.32.0")])
    known = {one.key.replica: one.version("vllm") for one in store.known_endpoints()[0].replicas}
    assert known == {"a": "0.32.0", "b": "0.11.1"}
    assert store.known_endpoints("west") == []
    # what is declared stays as it was: the next declaration of the same is no change
    assert store.endpoints() == [declared]
    assert not store.declare("east", [declared], [], "config", "ann")


def test_a_target_s_version_is_the_last_that_its_process_told(store: Store) -> None:
    store.declare("east", [endpoint(replicas=("a",))], [], "config", "ann")
    for number, (version, shown) in enumerate((("0.11.1", "0.11.1"), ("0.32.0", "0.32.0"), ("", ""))):
        store.append([a_round(T0 + 15 * (number + 1), version=version)])
        row = store.target_status().to_dict("records")[0]
        assert (row["version"], row["stated_version"]) == (shown, "")


def test_an_endpoint_may_have_no_replica_yet(store: Store) -> None:
    empty = Endpoint("east", "inference/chat", (), "hyperpod", "llama", "session")
    store.declare("east", [empty], [], "kubernetes", "controller")
    assert store.endpoints() == [empty] == store.known_endpoints()
    found = store.accounts(T0, T0 + 900)
    assert [(one.endpoint, one.replicas) for one in found] == [("inference/chat", [])]
    store.declare("east", [endpoint("inference/chat")], [], "kubernetes", "controller")
    assert store.endpoints() == [endpoint("inference/chat")]


def test_the_order_is_the_declared_one_whatever_changed(store: Store) -> None:
    def declare(endpoints: list[Endpoint], pools: list[Replica]) -> None:
        assert store.declare("east", endpoints, pools, "config", "ann")
        assert (store.endpoints(), store.pools()) == (endpoints, pools)

    a, b, c = (endpoint(name) for name in ("a", "b", "c"))
    declare([a, b, c], [pool(), pool("spare")])
    declare([c, a, b], [pool("spare"), pool()])
    changed = replace(a, strategy="session", replicas=tuple(reversed(a.replicas)))
    declare([endpoint("new"), c, changed], [pool("spare"), pool("third"), pool()])
    declare([changed, c], [pool()])


def test_what_did_not_change_is_not_written_again(stores: Sqlite | Postgres) -> None:
    url = stores.migrated()
    database = Database(parse_url(url))
    with Store.open(url) as store:
        store.declare("east", [endpoint("chat"), endpoint("code")], [pool()], "config", "ann")
        with database.write() as connection:  # a mark that writing again would wipe out
            connection.execute(text("UPDATE targets SET position = 7"))
        store.declare("east", [endpoint("code"), endpoint("more")], [pool()], "config", "ann")
    with database.read() as connection:
        rows = connection.execute(text("SELECT DISTINCT endpoint, position FROM targets ORDER BY endpoint")).all()
    database.close()
    assert [tuple(row) for row in rows] == [(POOL, 7), ("code", 7), ("more", 0)]
