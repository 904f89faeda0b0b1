"""The janitor's rounds in the store, on both databases."""

from __future__ import annotations

from dataclasses import replace

from db import Store
from tests.support.rounds import T0
from tierdeck.events import Event, EventKind
from tierdeck.fleet import POOL
from tierdeck.l2.janitor_runs import IdentityPart, JanitorRun, Order, Outcome
from tierdeck.resolution import Resolution

RUN = JanitorRun(
    "east", "curvine", "host:1", T0, False, Outcome.CLEANED, T0 + 30, "91 % used", "120 files went", Order.READ,
    capacity_bytes=1000.0, used_before_bytes=910.0, used_after_bytes=700.0, files=91, size_bytes=910, chosen_files=21,
    chosen_bytes=210, deleted_files=21, deleted_bytes=210,
    identities=(IdentityPart("qwen-1", 60, 600, T0 - 5, 21, 210), IdentityPart(".", 31, 310)),
)  # fmt: skip


def test_a_round_comes_back_exactly(store: Store) -> None:
    saved = store.save_janitor_run(RUN, at=T0)
    assert replace(saved, id=0) == RUN
    assert store.janitor_runs() == [saved]
    assert saved.fell_bytes == 210.0  # 910 − 700


def test_a_round_is_written_anew_as_it_goes_on(store: Store) -> None:
    begun = store.save_janitor_run(replace(RUN, outcome=Outcome.RUNNING, ended_at=None, deleted_files=3), at=T0)
    store.save_janitor_run(replace(RUN, id=begun.id), at=T0 + 30)
    assert [(one.id, one.outcome, one.deleted_files) for one in store.janitor_runs()] == [
        (begun.id, Outcome.CLEANED, 21)
    ]


def test_rounds_are_read_newest_first_by_cluster_and_pool(store: Store) -> None:
    for number, (cluster, pool) in enumerate([("east", "a"), ("east", "b"), ("west", "a"), ("east", "a")]):
        store.save_janitor_run(replace(RUN, cluster=cluster, pool=pool, started_at=T0 + number), at=T0)
    assert [one.started_at - T0 for one in store.janitor_runs()] == [3, 2, 1, 0]
    assert [one.started_at - T0 for one in store.janitor_runs("east", "a")] == [3, 0]
    assert [one.started_at - T0 for one in store.janitor_runs("east", limit=1)] == [3]
    assert (store.janitor_pools("east"), store.janitor_pools("north")) == (["a", "b"], [])


def test_what_happened_is_written_with_the_round_and_once(store: Store) -> None:
    event = Event("east", POOL, "curvine", T0 + 30, EventKind.JANITOR, "pool curvine", "room was made", "janitor/1")
    saved = store.save_janitor_run(RUN, [event], at=T0 + 30)
    store.save_janitor_run(saved, [event], at=T0 + 31)
    found = store.events(T0, T0 + 60)
    assert found["words"].tolist() == ["room was made"]


def test_old_rounds_go_with_old_events(store: Store) -> None:
    for age in (100_000.0, 100.0):
        store.save_janitor_run(replace(RUN, started_at=T0 - age), at=T0)
    store.prune(T0, dict.fromkeys(Resolution, 86400), event_seconds=86400)
    assert [T0 - one.started_at for one in store.janitor_runs()] == [100.0]
