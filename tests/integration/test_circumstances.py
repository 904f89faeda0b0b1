"""What is read around an alert, on both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.circumstances import circumstances
from db import Store
from tests.support.console_store import CLUSTER, Habit, Made, fill
from tests.support.deployed import event, sighting
from tests.support.stores import Postgres, Sqlite
from tierdeck.alerts.alert import Alert, AlertState, Severity, Subject
from tierdeck.alerts.causes import find_causes
from tierdeck.events import EventKind
from tierdeck.fleet import POOL, Endpoint, Replica, ReplicaKey, Target

END_AT = 1_800_003_600.0
DAY = 86400.0
CHAT = [Habit(restarts_at=END_AT - 400), Habit(silent_after=END_AT - 300), Habit(salts=("gold", ""))]


@pytest.fixture
def filled(stores: Sqlite | Postgres) -> str:
    """Fifty minutes of two endpoints, a round a minute."""
    url = stores.migrated()
    fill(url, [Made("chat", CHAT), Made("rag", [Habit()])], END_AT - 3000, END_AT, step=60.0)
    return url


def alert(rule: str = "hit_ratio_drop", endpoint: str = "chat", part: str = "", at: float = END_AT - 120) -> Alert:
    return Alert(rule, Subject(CLUSTER, endpoint, part), AlertState.FIRING, Severity.WARNING, at)


def test_replicas_salts_restarts_and_targets_of_one_endpoint(filled: str) -> None:
    with Store.open(filled) as store:
        seen = circumstances(store, alert(), END_AT, stale_after_seconds=180.0)
    assert seen.before.replicas.keys() == seen.after.replicas.keys() == {"chat-0", "chat-1", "chat-2"}
    assert seen.before.salts.keys() == {"gold", ""}
    # it began anew 400 s before the end, in a round that ends 360 s before it
    (restart,) = seen.restarts
    assert restart.replica == "chat-0"
    assert END_AT - 480 <= restart.at <= END_AT - 360
    assert {one.replica: one.reason for one in seen.targets}["chat-1"] == "connection refused"
    assert seen.declared == {"chat-0", "chat-1", "chat-2"}
    assert seen.strategy == "prefixaware"
    assert seen.before.waiting is not None
    assert seen.before.stored.keys() <= {"chat"}


def test_events_of_the_endpoint_of_pools_and_of_the_cluster_oldest_first(filled: str) -> None:
    told = [
        event(END_AT - 100, "one", endpoint="chat", cluster=CLUSTER, words="late"),
        event(END_AT - 200, "two", EventKind.NODE_GONE, endpoint="", cluster=CLUSTER, words="a node"),
        event(END_AT - 300, "three", endpoint=POOL, cluster=CLUSTER, words="a pool"),
        event(END_AT - 300, "four", endpoint="rag", cluster=CLUSTER, words="another's"),
        event(END_AT - 40000, "five", endpoint="chat", cluster=CLUSTER, words="long ago"),
    ]
    with Store.open(filled) as store:
        store.sight(replace(sighting(END_AT), cluster=CLUSTER), lambda *_: told)
        seen = circumstances(store, alert(), END_AT, stale_after_seconds=180.0)
    assert [one.words for one in seen.events] == ["a pool", "a node", "late"]
    assert seen.events[-1].detail == {"by": "kubelet"}
    assert seen.events[-1].at == END_AT - 100


def test_what_sinks_slowly_is_held_against_the_same_hour_of_the_day_before(sqlite: Sqlite) -> None:
    url = sqlite.migrated()
    for end_at in (END_AT - DAY, END_AT):
        fill(url, [Made("chat", CHAT)], end_at - 3000, end_at, step=60.0)
    with Store.open(url) as store:
        seen = circumstances(store, alert("hit_ratio_drift"), END_AT)
    assert seen.compared_with == "the same hour a day before"
    assert seen.before.ended_at == END_AT - DAY
    assert seen.change is not None


def test_without_a_day_before_it_is_the_hour_before(filled: str) -> None:
    with Store.open(filled) as store:
        seen = circumstances(store, alert("hit_ratio_drift"), END_AT)
    assert seen.compared_with == "the hour before"


def test_a_pools_alert_is_about_every_endpoint(filled: str) -> None:
    with Store.open(filled) as store:
        seen = circumstances(store, alert("pool_filling", POOL, "curvine"), END_AT, stale_after_seconds=180.0)
    assert {"chat/chat-0", "rag/rag-0"} <= seen.after.replicas.keys()
    assert seen.declared == {"chat/chat-0", "chat/chat-1", "chat/chat-2", "rag/rag-0"}
    assert find_causes(seen)


def test_an_endpoint_that_was_never_scraped_or_is_not_there(store: Store) -> None:
    key = ReplicaKey(CLUSTER, "new", "new-0")
    store.declare(
        CLUSTER, [Endpoint(CLUSTER, "new", (Replica(key, (Target(key, "vllm", "http://x"),)),))], [], "t", "t"
    )
    for name in ("new", "nobody"):
        for rule in ("hit_ratio_drop", "no_data", "hit_ratio_drift", "ttft_burn"):
            (found,) = find_causes(circumstances(store, alert(rule, name), END_AT))
            assert found.name == "unknown"
            assert "nothing to compare with" in found.evidence


def test_a_tiers_alert_is_about_that_tier(filled: str) -> None:
    with Store.open(filled) as store:
        seen = circumstances(store, alert("tier_drop", part="L0"), END_AT, stale_after_seconds=180.0)
    tiers = seen.by_tier
    assert tiers is not None
    assert [part.name for part in tiers.parts] == ["L0"]
