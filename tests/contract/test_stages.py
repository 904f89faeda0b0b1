"""What every set-up stage promises, whatever a cluster shows it."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.objects import Objects
from controller.resources import RESOURCES
from controller.stage import NoPlanError, Stage, State, View, Wishes
from controller.stages import STAGES
from tests.support.manifests import documents, objects_of
from tierdeck.l2.file import parse_l2

WRONG: tuple[Any, ...] = (None, True, 7, "", "x", [], [None], {}, {"a": 1})
FILE = parse_l2("defaults: {claim: curvine-pvc}\nendpoints: {inference/chat: {}, llm/mistral: {}}", "here")
each = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: str(stage.number))


def test_there_are_five_and_each_stands_at_its_number() -> None:
    assert [stage.number for stage in STAGES] == [1, 2, 3, 4, 5]
    assert len({stage.title for stage in STAGES}) == 5


@each
def test_nothing_is_done_in_an_empty_cluster(stage: Stage) -> None:
    found = stage.look(View(Objects("prod", {})))
    assert found.evidence
    assert found.state is not State.DONE


@each
def test_where_nothing_can_be_seen_nothing_is_known(stage: Stage) -> None:
    blind = Objects("prod", {}, dict.fromkeys(RESOURCES, "forbidden"))
    assert stage.look(View(blind)).state is State.UNKNOWN


@each
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_field_of_a_wrong_type_never_raises(stage: Stage, data: st.DataObject) -> None:
    found = copy.deepcopy([one for name in ("hyperpod", "curvine") for one in documents(name)])
    broken: Any = data.draw(st.sampled_from(found))
    while isinstance(broken, (dict, list)) and broken:
        keys = [key for key in broken if key not in ("metadata", "kind")] if isinstance(broken, dict) else None
        at = data.draw(st.sampled_from(keys if keys is not None else range(len(broken)))) if keys != [] else None
        if at is None:
            break
        if not isinstance(broken[at], (dict, list)) or data.draw(st.booleans()):
            broken[at] = data.draw(st.sampled_from(WRONG))
            break
        broken = broken[at]
    view = View(replace(objects_of(found), l2=FILE), "v1")
    assert stage.look(view).evidence
    for wishes in (Wishes(), Wishes({}, "mutatingadmissionpolicy")):
        for make in (stage.plan, stage.undo):
            with contextlib.suppress(NoPlanError):
                assert make(view, wishes).commands


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_stage_that_is_not_checked_says_so_and_has_no_plan(number: int) -> None:
    stage, view = STAGES[number - 1], View(Objects("prod", {}))
    assert [one.found for one in stage.look(view).evidence] == ["this version of Tierdeck does not check it yet"]
    with pytest.raises(NoPlanError, match=f"stage {number} has no plan: this version of Tierdeck does not check it"):
        stage.plan(view, Wishes())
