"""What an endpoint carries when it is to be changed, from the store's last minute."""

from __future__ import annotations

from controller.changes.load import load_of
from controller.changes.planner import Load
from db import Store
from tests.support.rounds import T0, a_round, endpoint, key
from tierdeck.account import Gauges


def test_the_requests_of_all_replicas_are_added_up(store: Store) -> None:
    store.declare("east", [endpoint()], [], "config", "test")
    store.append([
        a_round(T0 + 15, gauges=Gauges(running=3.0, waiting=1.0)),
        a_round(T0 + 15, key("b"), gauges=Gauges(running=4.0, waiting=0.0)),
    ])  # fmt: skip
    # 3 + 4 run, 1 + 0 wait
    assert load_of(store, "east", "chat", T0 + 20) == Load(7.0, 1.0)


def test_with_a_replica_that_tells_nothing_it_is_not_known(store: Store) -> None:
    store.declare("east", [endpoint()], [], "config", "test")
    store.append([a_round(T0 + 15, gauges=Gauges(running=3.0, waiting=1.0)), a_round(T0 + 15, key("b"), prompt=None)])
    assert load_of(store, "east", "chat", T0 + 20) == Load()
    assert load_of(store, "east", "nobody", T0 + 20) == Load()
    # a minute later nothing of it counts any more
    assert load_of(store, "east", "chat", T0 + 120) == Load()
