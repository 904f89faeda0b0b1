"""A field by its path: read, set, taken away; and when two values say the same."""

from __future__ import annotations

import pytest

from controller.changes.kube.fields import Path, get, put, same, with_edits
from tests.unit.controller.changes.kube_objects import AFTER, ARGS, BEFORE, CONTAINER, SIZE, args, deployment
from tierdeck.changes.plan import ABSENT, FieldEdit, Json


def test_a_path_picks_from_a_list_by_a_key() -> None:
    raw = deployment(env=[{"name": "A", "value": "1"}, {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "5"}])
    assert get(raw, ARGS) == BEFORE
    assert get(raw, SIZE) == "5"
    assert get(raw, (*CONTAINER, "env", "[name=B]", "value")) is ABSENT
    assert get(raw, ("spec", "strategy", "rollingUpdate")) is ABSENT
    ports = {
        "ports": [{"containerPort": 8000, "protocol": "UDP"}, {"containerPort": 8000, "protocol": "TCP", "name": "x"}]
    }
    assert get(ports, ("ports", "[containerPort=8000,protocol=TCP]", "name")) == "x"


def test_of_two_with_one_name_the_last_one_counts_as_in_a_container() -> None:
    raw = deployment(env=[{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": size} for size in ("5", "6")])
    assert get(raw, SIZE) == "6"


def test_null_is_not_the_same_as_absent() -> None:
    assert get({"a": None}, ("a",)) is None
    assert get({}, ("a",)) is ABSENT


def test_what_is_set_changes_nothing_else_and_not_the_object_that_was_given() -> None:
    raw = deployment()
    made = with_edits(raw, [args()])
    assert get(made, ARGS) == AFTER
    assert get(raw, ARGS) == BEFORE
    assert with_edits(made, [FieldEdit(ARGS, AFTER, BEFORE)]) == raw


def test_what_is_missing_on_the_way_is_made_with_its_keys() -> None:
    made = put(deployment(), SIZE, "40")
    assert get(made, (*CONTAINER, "env")) == [{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "40"}]


def test_absent_takes_away_a_field_or_an_item_and_makes_nothing() -> None:
    raw = deployment(env=[{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "5"}, {"name": "A", "value": "1"}])
    made = put(raw, SIZE[:-1], ABSENT)
    assert get(made, (*CONTAINER, "env")) == [{"name": "A", "value": "1"}]
    assert put(raw, ("spec", "strategy", "type"), ABSENT) == raw
    assert get(put(raw, ("spec", "replicas"), ABSENT), ("spec", "replicas")) is ABSENT


@pytest.mark.parametrize(
    ("one", "other", "path", "is_same"),
    [
        ("0.5Gi", "512Mi", ("resources", "requests", "memory"), True),
        ({"memory": "4096Mi"}, {"memory": "4Gi"}, ("resources", "limits"), True),
        ("0.5Gi", "512Mi", ("env",), False),
        ("40", 40, ("value",), False),
        (True, 1, ("enabled",), False),
        (["a"], ["a", "b"], ("args",), False),
        (ABSENT, None, ("a",), False),
        (ABSENT, ABSENT, ("a",), True),
    ],
)
def test_values_are_the_same_where_the_server_only_spells_them_in_its_own_way(
    one: Json, other: Json, path: Path, is_same: bool
) -> None:
    assert same(one, other, path) is is_same
