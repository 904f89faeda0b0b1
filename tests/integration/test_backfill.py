"""The simulated fleet's past, accounted after the fact on both databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from collectors.backfill import backfill
from db import Store
from lab.sim.fleet import Fleet
from lab.sim.history import WARM_UP_SECONDS, Stretch, recording
from lab.sim.spec import FleetSpec
from tests.unit.lab_sim.scraping import BEGAN_AT, EMBEDDED, ENDPOINT, MP
from tierdeck.account import WarmingLimits
from tierdeck.backfill import Backfill
from tierdeck.errors import UsageError
from tierdeck.resolution import Resolution

START_AT = BEGAN_AT + WARM_UP_SECONDS
LIMITS = WarmingLimits()
SPEC = FleetSpec((replace(ENDPOINT, forms=(MP, EMBEDDED), requests_per_second=0.3),), (20 * 2**30,) * 2)


def lines(hours: float = 1.0, start_at: float = START_AT) -> list[str]:
    return list(_lines(START_AT + hours * 3600, start_at))


@cache
def _lines(end_at: float, start_at: float) -> tuple[str, ...]:
    stretch = Stretch(start_at, end_at, name="test")
    return tuple(json.dumps(line) for line in recording(lambda: SPEC, 1, stretch, is_eventful=False))


def fill(store: Store, some: list[str]) -> list[Backfill]:
    return list(backfill(iter(some), store, "default", LIMITS))


def tokens(store: Store, start_at: float, end_at: float) -> dict[str, tuple[float, float]]:
    """Prompt tokens and L0 hits by replica; the recording's fleet is no inventory, so all have left."""
    series = store.replica_series(start_at, end_at, Resolution.RAW, "default", "chat")
    found = series.groupby("replica")[["prompt_tokens", "l0"]].sum()
    return {str(name): (row["prompt_tokens"], row["l0"]) for name, row in found.iterrows()}


def truth(hours: float) -> dict[str, tuple[float, float]]:
    fleet = Fleet(SPEC, 1, BEGAN_AT)
    fleet.advance(WARM_UP_SECONDS)
    before = {one.name: (one.truth.prompt_tokens, one.truth.l0) for one in fleet.endpoints["chat"].replicas}
    fleet.advance(hours * 3600)
    return {
        one.name: (one.truth.prompt_tokens - before[one.name][0], one.truth.l0 - before[one.name][1])
        for one in fleet.endpoints["chat"].replicas
    }


def test_the_past_is_in_the_store_token_for_token_and_rolled_up(store: Store) -> None:
    told = fill(store, lines())
    # an hour in pieces of ten minutes
    assert [round(6 * one.share) for one in told] == [0, 1, 2, 3, 4, 5, 6]
    assert told[-1].is_done
    assert store.backfills("default") == [told[-1]]
    end_at = START_AT + 3600
    assert tokens(store, START_AT, end_at) == truth(1.0)
    whole = sum(prompt for prompt, _ in truth(1.0).values())
    for resolution in (Resolution.MINUTE, Resolution.TEN_MINUTES, Resolution.HOUR):
        series = store.endpoint_series(START_AT, end_at, resolution, "default", "chat")
        assert series["prompt_tokens"].sum() == whole


def test_bytes_read_by_an_embedded_cache_become_tokens_as_in_the_present(store: Store) -> None:
    fill(store, lines())
    series = store.endpoint_series(START_AT, START_AT + 3600, Resolution.HOUR, "default", "chat")
    assert not series["l2"].isna().any()


def test_it_says_nothing_about_the_present(store: Store) -> None:
    fill(store, lines())
    assert store.memories("default") == {}
    assert store.last_at() is None
    assert store.target_status().empty
    assert store.endpoints() == []


def test_cut_off_it_goes_on_where_it_stopped_and_keeps_its_start(store: Store) -> None:
    full = lines()
    cut = fill(store, full[: 3 * len(full) // 4])
    assert 0.7 < cut[-1].share < 0.8
    again = fill(store, lines(start_at=cut[-1].done_at))
    assert (again[0].start_at, again[0].done_at, again[0].share) == (START_AT, cut[-1].done_at, cut[-1].share)
    assert again[-1].is_done
    series = store.endpoint_series(START_AT, START_AT + 3600, Resolution.TEN_MINUTES, "default", "chat")
    assert len(series) == 6
    assert not series["prompt_tokens"].isna().any()


def test_done_twice_it_is_there_once(store: Store) -> None:
    fill(store, lines(0.5))
    fill(store, lines(0.5))
    assert tokens(store, START_AT, START_AT + 1800) == truth(0.5)


HEAD = {"recording": "r", "start_at": 100.0, "end_at": 200.0}
TARGET = "http://10.0.0.1:8000"
FLEET = {"endpoints": [{"name": "e", "replicas": [{"name": "a", "targets": {"vllm": TARGET}}]}]}
LINE = {"at": 110.0, "owner": "e", "replica": "a", "bodies": {}}


@pytest.mark.parametrize(
    ("some", "says"),
    [
        ([], "line 1 is not JSON"),
        (["[]"], "line 1 is no JSON object"),
        ([{**HEAD, "fleet": {}}], "line 1: fleet: endpoints"),
        ([{**HEAD, "end_at": 100.0, "fleet": FLEET}], "a later end_at"),
        ([{**HEAD, "end_at": "soon", "fleet": FLEET}], "line 1: end_at must be epoch seconds"),
        ([{**HEAD, "fleet": FLEET}, "{"], "line 2 is not JSON"),
        ([{**HEAD, "fleet": FLEET}, {**LINE, "replica": "b"}], "line 2: the recording's fleet has no e/b"),
        ([{**HEAD, "fleet": FLEET}, LINE, {**LINE, "at": 109.0}], "line 3: 109.000 is before the line above"),
        ([{**HEAD, "fleet": FLEET}, {**LINE, "at": 300.0}], "after the recording's end"),
        ([{**HEAD, "fleet": FLEET}, {**LINE, "bodies": {"vllm": 3}}], "line 2: bodies must be texts"),
    ],
)
def test_what_is_no_recording_is_refused_with_its_line(sqlite_store: Store, some: list[object], says: str) -> None:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in some]
    with pytest.raises(UsageError, match=says):
        fill(sqlite_store, texts)


def test_a_target_that_did_not_answer_is_a_gap(sqlite_store: Store) -> None:
    some = [json.loads(line) for line in lines(0.5)]
    for line in some[1:]:
        if START_AT + 600 <= line["at"] <= START_AT + 900:
            line["bodies"].pop("vllm", None)
    fill(sqlite_store, [json.dumps(line) for line in some])
    # the counters go on across the gap: nothing is lost
    assert tokens(sqlite_store, START_AT, START_AT + 1800) == truth(0.5)


@pytest.fixture
def sqlite_store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with Store.open(request.getfixturevalue("sqlite").migrated()) as one:
        yield one
