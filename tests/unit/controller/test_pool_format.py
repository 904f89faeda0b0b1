"""Curvine's format flags: a pool that has run and has them on is in danger, and that is its problem."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.backends.curvine import CURVINE
from tests.support.manifests import documents, objects_of

OFF = "format_master = false\nformat_worker = false\n"


def problems(toml: str | None, *, ready: bool = True, blind: bool = False) -> list[str]:
    """What a pool with this file says of its flags."""
    found: list[dict[str, Any]] = copy.deepcopy(documents("curvine"))
    for one in found:
        if one["kind"] == "ConfigMap" and toml is not None:
            one["data"] = {"curvine-cluster.toml": toml}
        if one["kind"] == "StatefulSet" and not ready:
            one.pop("status", None)
    kept = [one for one in found if not (blind and one["kind"] == "ConfigMap")]
    return [one for one in CURVINE.find(objects_of(kept), ())[0].deployed.problems if "format" in one]


def test_flags_that_are_off_are_no_problem() -> None:
    assert problems(OFF) == []


@pytest.mark.parametrize("toml", ["format_master = true\nformat_worker = false", "format_worker = false"])
def test_a_master_that_would_forget_its_files_is_a_problem_also_where_the_flag_is_absent(toml: str) -> None:
    (told,) = problems(toml)
    assert "ConfigMap curvine/curvine-config, curvine-cluster.toml format_master" in told
    assert "a master that restarts forgets every file of the pool" in told
    assert "kubectl edit configmap curvine-config -n curvine" in told
    assert ("is absent, so it is true" in told) == ("true" not in toml)


def test_both_flags_are_two_problems() -> None:
    assert [("a worker" in one, "a master" in one) for one in problems("")] == [(False, True), (True, False)]


def test_before_anything_was_ready_the_flags_are_as_they_have_to_be() -> None:
    assert problems("format_master = true\nformat_worker = true", ready=False) == []


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("format_master = [", "can't be read as TOML"),
        ('format_master = "yes"\nformat_worker = false', "format_master is neither true nor false"),
    ],
)
def test_what_can_not_be_read_is_said_and_taken_for_neither(toml: str, reason: str) -> None:
    assert all("can't be told" in one for one in problems(toml))
    assert reason in problems(toml)[0]


def test_a_config_map_that_is_not_seen_is_no_proof_of_anything() -> None:
    told = problems(None, blind=True)
    assert len(told) == 2
    assert all("can't be told" in one for one in told)
