"""What every planner of changes promises, held against the example of each backend that it plans for."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.backends import BACKENDS
from controller.changes.planner import Load, Look
from controller.changes.planners import PLANNERS
from controller.reading.fields import field, items
from controller.reading.scene import Scene
from tests.support.manifests import documents, objects_of
from tests.support.plain_looks import NOW, Documents, ManifestReader, applied
from tierdeck.changes.plan import ABSENT, FieldEdit, Plan, Refusal
from tierdeck.changes.wish import L0Wish, Wish
from tierdeck.errors import TierdeckError

GIB = 2**30
WISHES = (
    *(Wish(strategy=one) for one in ("roundrobin", "session", "prefixaware", "kvaware", "round_robin", "no such")),
    Wish(l0=L0Wish(share=0.7)),
    Wish(l0=L0Wish(size_bytes=8 * GIB)),
    Wish(l0=L0Wish(blocks=4096)),
    Wish(l1_bytes=24 * GIB),
    Wish(l1_bytes=0),
    Wish(l2_bytes=900 * GIB),
    Wish(l0=L0Wish(share=0.7), l1_bytes=24 * GIB, l2_bytes=900 * GIB),
)
WRONG: tuple[Any, ...] = (None, True, 7, -1, 1e400, "", "x", "$(A)", "0" * 30, "{", [], [None, 3], {}, {"a": 1}, ["-"])
NAMES = tuple(name for planner in PLANNERS for name in planner.names)

each = pytest.mark.parametrize("name", NAMES)
each_wish = pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.text)


def test_every_backend_has_one_planner() -> None:
    assert sorted(NAMES) == sorted(backend.name for backend in BACKENDS)


@each
@each_wish
def test_it_plans_or_says_why_not(name: str, wish: Wish) -> None:
    found = documents(name)
    made = _plan(name, found, wish)
    assert made is not None
    if not isinstance(made, Plan):
        _check_refusals(made)
        return
    assert made.writes
    assert made.strategy == wish.strategy
    for write in made.writes:
        assert write.edits
        assert write.address.startswith(("/api", "http"))
        live = ManifestReader(found).get(write.ref)
        assert live is not None
        for edit in write.edits:
            assert edit.before != edit.after
            assert _value(live, edit) == edit.before, edit.where
    refs = {write.ref for write in made.writes}
    assert made.loses == () or made.restarts, "only a restart empties a tier"
    assert all(one.workload in (*refs, *made.restarts) for one in made.carries)
    assert all(sentence.endswith(".") for sentence in made.warnings)


@each
@each_wish
def test_what_is_as_wished_is_nothing_to_do(name: str, wish: Wish) -> None:
    found = documents(name)
    made = _plan(name, found, wish)
    if not isinstance(made, Plan) or any(write.ref.kind == "VLLMRuntime" for write in made.writes):
        return  # what the operator has not rendered yet is still to do
    again = _plan(name, applied(found, made), wish)
    assert isinstance(again, tuple), again
    assert [one.code for one in again] == ["nothing_to_do"]


@each
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_field_of_a_wrong_type_is_no_crash(name: str, data: st.DataObject) -> None:
    found = copy.deepcopy(documents(name))
    broken: Any = data.draw(st.sampled_from([one for one in found if one["kind"] != "Pod"]))
    while isinstance(broken, (dict, list)) and broken:
        key = data.draw(st.sampled_from(sorted(broken) if isinstance(broken, dict) else range(len(broken))))
        if key in ("metadata", "kind") or not isinstance(broken[key], (dict, list)) or data.draw(st.booleans()):
            if key not in ("metadata", "kind"):
                broken[key] = data.draw(st.sampled_from(WRONG))
            break
        broken = broken[key]
    with contextlib.suppress(TierdeckError):
        made = _plan(name, found, data.draw(st.sampled_from(WISHES)))
        if made is not None and not isinstance(made, Plan):
            _check_refusals(made)


def _plan(name: str, found: Documents, wish: Wish) -> Plan | tuple[Refusal, ...] | None:
    """None where the backend finds nothing any more."""
    objects = objects_of(found)
    (backend,) = [one for one in BACKENDS if one.name == name]
    (planner,) = [one for one in PLANNERS if name in one.names]
    seen = backend.find(objects, ())
    if not seen:
        return None
    look = Look(objects, Scene(objects), seen[0].deployed, ManifestReader(found), NOW, Load())
    made = planner.plan(look, wish)
    assert made == planner.plan(look, wish), "planning twice is planning once"
    return made


def _check_refusals(made: tuple[Refusal, ...]) -> None:
    assert made
    for one in made:
        assert one.code.replace("_", "a").isalnum()
        assert one.reason.endswith("."), one.reason
        assert not one.reason.endswith(".."), one.reason


def _value(live: Any, edit: FieldEdit) -> object:
    for part in edit.path:
        if part.startswith("["):
            named = [one for one in items({"x": live}, "x") if f"[name={one.get('name')}]" == part]
            live = named[-1] if named else None
        else:
            live = field(live, part)
    return ABSENT if live is None else live
