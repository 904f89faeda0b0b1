"""FUSE mounts in the store: the last page of each, and when it last answered something."""

from __future__ import annotations

from dataclasses import replace

from db import Store
from tests.support.rounds import T0, a_round
from tierdeck.fleet import POOL, Replica, ReplicaKey, Target
from tierdeck.l2.mounts import Mount, MountReading
from tierdeck.rounds import Scrape

KEY = ReplicaKey("east", POOL, "curvine/curvine")
TARGETS = tuple(Target(KEY, f"curvine-fuse.{name}", f"http://10.0.0.{at}:9002") for at, name in enumerate("ab"))


def told(store: Store, seconds: float, requests: float | None, *, name: str = "curvine-fuse.a") -> None:
    at = T0 + seconds
    page = MountReading(name, at, 2.0, 1.0, at - 1, requests)
    store.append([replace(a_round(at, KEY), scrapes=(), mounts=(page,))])


def test_the_last_page_counts_and_the_time_of_the_last_answer_is_kept(store: Store) -> None:
    store.declare("east", [], [Replica(KEY, TARGETS)], "test", "test")
    told(store, 0, 10)
    told(store, 15, 12)
    told(store, 30, 12)
    told(store, 45, 12)
    told(store, 20, 12)  # late: an older page replaces nothing
    first, second = store.mounts("east")
    page = MountReading("curvine-fuse.a", T0 + 45, 2.0, 1.0, T0 + 44, 12.0)
    assert first == Mount("curvine/curvine", "curvine-fuse.a", page, T0 + 15)
    assert second == Mount("curvine/curvine", "curvine-fuse.b")
    told(store, 60, None)  # a version that does not count them
    assert store.mounts("east")[0].moved_at == T0 + 60


def test_why_the_last_page_could_not_be_read_stands_beside_it(store: Store) -> None:
    store.declare("east", [], [Replica(KEY, TARGETS)], "test", "test")
    told(store, 0, 10)
    failed = Scrape(TARGETS[0], T0 + 15, answered=False, reason="timed out")
    store.append([replace(a_round(T0 + 15, KEY), scrapes=(failed,))])
    assert store.mounts("east")[0].failed == "timed out"
    assert store.mounts("west") == []
