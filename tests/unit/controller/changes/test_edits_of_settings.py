"""Variables, memory and sizes are edited exactly, and told as the edits of their fields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.changes.edits.difference import edits_between
from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.memory import with_memory
from controller.changes.edits.quantities import gib_per_rank, quantity_of
from controller.changes.edits.variables import with_variable
from controller.reading.quantities import bytes_of
from controller.reading.sizes import gib_of, in_gib
from tierdeck.changes.plan import ABSENT, FieldEdit

GIB = 2**30
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
OTHER = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
AT = ("spec", "containers", "[name=vllm]")


def test_a_variable_is_set_in_its_place() -> None:
    given_env = {"env": [{"name": SIZE, "value": "5"}, OTHER]}
    assert with_variable(given_env, SIZE, "20") == {"env": [{"name": SIZE, "value": "20"}, OTHER]}


def test_of_several_the_last_stays() -> None:
    given_env = {"env": [{"name": SIZE, "value": "5"}, OTHER, {"name": SIZE, "value": "7"}]}
    assert with_variable(given_env, SIZE, "20") == {"env": [OTHER, {"name": SIZE, "value": "20"}]}


def test_a_new_variable_comes_last_and_the_only_one_leaves_no_list() -> None:
    assert with_variable({"env": [OTHER]}, SIZE, "20") == {"env": [OTHER, {"name": SIZE, "value": "20"}]}
    assert with_variable({"env": [{"name": SIZE, "value": "20"}]}, SIZE, None) == {}
    assert with_variable({}, SIZE, None) == {}


def test_a_value_from_elsewhere_is_not_replaced() -> None:
    with pytest.raises(NotEditableError, match="A comes from secretKeyRef s k"):
        with_variable({"env": [OTHER]}, "A", "1")


def test_a_list_that_is_none_is_refused() -> None:
    with pytest.raises(NotEditableError, match="environmentVariables is no list"):
        with_variable({"environmentVariables": {}}, "A", "1", "environmentVariables")


ENTRIES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["A", "B", SIZE]), "value": st.text("ab", max_size=2)})
)


@given(ENTRIES, st.sampled_from(["20", None]))
def test_set_twice_is_set_once_and_the_others_stay(env: list[dict[str, str]], value: str | None) -> None:
    once = with_variable({"env": env}, SIZE, value)
    assert with_variable(once, SIZE, value) == once
    assert [one["value"] for one in once.get("env", []) if one["name"] == SIZE] == ([] if value is None else [value])
    assert [one for one in once.get("env", []) if one["name"] != SIZE] == [one for one in env if one["name"] != SIZE]


@pytest.mark.parametrize(
    ("size_bytes", "like", "text"),
    [
        (36 * GIB, "16Gi", "36Gi"),
        (1536 * 2**20, "1.5Gi", "1536Mi"),
        (36 * 10**9, "16G", "36G"),
        (16 * 10**9 + 20 * GIB, "16G", "36596520Ki"),  # 37,474,836,480 is no multiple of 1,000, and 36,596,520 of 1,024
        (5000, "5Ki", "5k"),
        (1025, "", "1025"),
        (1024 * GIB, "1000Gi", "1Ti"),
    ],
)
def test_a_quantity_is_spelled_as_the_server_stores_it(size_bytes: int, like: str, text: str) -> None:
    assert quantity_of(size_bytes, like) == text
    assert bytes_of(text) == size_bytes


def test_memory_moves_in_request_and_limit() -> None:
    before = {"resources": {"requests": {"memory": "16Gi", "cpu": "4"}, "limits": {"memory": "20Gi"}}}
    after = with_memory(before, 20 * GIB)
    assert after == {"resources": {"requests": {"memory": "36Gi", "cpu": "4"}, "limits": {"memory": "40Gi"}}}
    assert with_memory(after, -20 * GIB) == before


def test_memory_that_is_not_stated_stays_unstated() -> None:
    assert with_memory({"name": "x"}, GIB) == {"name": "x"}


@pytest.mark.parametrize("stated", ["1Gi", "much"])
def test_memory_that_can_not_be_taken_is_refused(stated: str) -> None:
    with pytest.raises(NotEditableError, match=r"resources\.limits\.memory"):
        with_memory({"resources": {"limits": {"memory": stated}}}, -GIB)


@pytest.mark.parametrize(
    ("size_bytes", "ranks", "text"),
    [
        (40 * GIB, 1, "40"),
        (40 * GIB, 2, "20"),
        (GIB // 2, 1, "0.5"),
        (GIB, 8, "0.125"),
        (0, 4, "0"),
        (40 * GIB, 3, "13.333333"),  # no number of a third of 40 GiB is a whole number of bytes
    ],
)
def test_a_size_is_told_to_each_rank_as_a_plain_number(size_bytes: int, ranks: int, text: str) -> None:
    assert gib_per_rank(size_bytes, ranks) == text


@given(st.integers(0, 2**22), st.sampled_from([1, 2, 4, 8]))
def test_a_size_of_whole_mib_per_rank_reads_back(mib: int, ranks: int) -> None:
    share = mib * 2**20
    number = gib_of(gib_per_rank(share * ranks, ranks))
    assert number is not None
    assert in_gib(number, ranks).size_bytes == share * ranks


def test_edits_are_told_by_field() -> None:
    before: dict[str, Any] = {
        "args": ["a"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, OTHER | {"name": "C"}],
        "resources": {"limits": {"memory": "1Gi"}},
    }
    after: dict[str, Any] = {
        "args": ["a", "b"],
        "env": [{"name": "A", "value": "9"}, OTHER | {"name": "C"}, {"name": "D", "value": "4"}],
        "resources": {"limits": {"memory": "2Gi"}},
    }
    assert edits_between(before, after, AT) == (
        FieldEdit((*AT, "args"), ["a"], ["a", "b"]),
        FieldEdit((*AT, "env", "[name=A]", "value"), "1", "9"),
        FieldEdit((*AT, "env", "[name=B]"), {"name": "B", "value": "2"}, ABSENT),
        FieldEdit((*AT, "env", "[name=D]"), ABSENT, {"name": "D", "value": "4"}),
        FieldEdit((*AT, "resources", "limits", "memory"), "1Gi", "2Gi"),
    )
    assert edits_between(before, before, AT) == ()


def test_a_list_without_a_key_is_one_value() -> None:
    before = {"environmentVariables": [{"name": "A", "value": "1"}]}
    found = edits_between(before, {}, ("spec", "worker"), "environmentVariables", is_keyed=False)
    assert found == (FieldEdit(("spec", "worker", "environmentVariables"), before["environmentVariables"], ABSENT),)
