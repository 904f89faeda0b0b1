"""Silences and maintenance windows in the store, on both databases."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from db import Store
from tests.support.alerts import CHAT, silence
from tests.support.rounds import T0
from tierdeck.errors import UsageError


def test_a_silence_comes_back_exactly_and_leaves_a_mark(store: Store) -> None:
    one = silence(rule="hit_ratio_drop", cluster="east")
    added = store.add_silence(one)
    assert replace(added, id=0) == one
    assert store.silences() == [added]
    (row,) = store.audit().to_dict("records")
    assert (row["actor"], row["action"], row["subject"]) == ("ada", "silence", "rule=hit_ratio_drop, cluster=east")
    assert json.loads(row["detail"])["why"] == "a new rack"


def test_silences_of_now_are_those_that_are_active_or_to_come(store: Store) -> None:
    past = store.add_silence(silence(T0 - 100, 99))
    active = store.add_silence(silence(T0 - 50, 100))
    to_come = store.add_silence(silence(T0 + 50, 100))
    assert store.silences(T0) == [active, to_come]
    assert store.silences() == [past, active, to_come]
    ended = store.end_silence(active.id, "bob", T0)
    assert ended == replace(active, ended_at=T0)
    store.end_silence(to_come.id, "bob", T0)  # it never begins
    assert store.silences(T0) == []
    assert not any(one.is_active(T0 + 60) for one in store.silences())
    assert store.audit()["action"].tolist()[:2] == ["end_silence", "end_silence"]


def test_what_is_over_can_not_be_ended(store: Store) -> None:
    one = store.add_silence(silence(T0, 100))
    with pytest.raises(UsageError, match="is over"):
        store.end_silence(one.id, "ada", T0 + 100)
    store.end_silence(one.id, "ada", T0 + 10)
    with pytest.raises(UsageError, match="is over"):
        store.end_silence(one.id, "ada", T0 + 20)
    with pytest.raises(UsageError, match="no silence 99"):
        store.end_silence(99, "ada", T0)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (replace(silence(), matchers={}), "silence everything"),
        (silence(model="llama"), "no label model"),
        (silence(T0, 0), "before it begins"),
        (replace(silence(), why=" "), "a reason and a name"),
        (replace(silence(), by=""), "a reason and a name"),
        (silence(is_maintenance=True, rule="no_data"), "a cluster or an endpoint, not a rule"),
    ],
)
def test_a_silence_that_can_not_be_meant_is_refused(store: Store, one, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match=words):
        store.add_silence(one)
    assert store.silences() == []
    assert store.audit().empty


def test_a_maintenance_window_freezes_what_it_matches_while_it_lasts(store: Store) -> None:
    store.add_silence(silence(T0, 500, cluster="east"))  # silences, and freezes nothing
    short = store.add_silence(silence(T0, 100, is_maintenance=True, endpoint=CHAT.endpoint))
    whole = store.add_silence(silence(T0 + 50, 100, is_maintenance=True, cluster="east"))
    assert store.frozen("east", CHAT.endpoint, T0 - 1) is None
    assert store.frozen("east", CHAT.endpoint, T0) == short
    assert store.frozen("west", CHAT.endpoint, T0) == short
    assert store.frozen("east", "inference/code", T0) is None
    assert store.frozen("east", CHAT.endpoint, T0 + 50) == whole  # the one that ends last
    assert store.frozen("east", "inference/code", T0 + 149) == whole
    assert store.frozen("east", "inference/code", T0 + 150) is None
    store.end_silence(whole.id, "bob", T0 + 60)
    assert store.frozen("east", CHAT.endpoint, T0 + 60) == short
    assert store.audit()["action"].tolist() == ["end_maintenance", "maintenance", "maintenance", "silence"]
