"""What every preflight check promises, whatever the cluster's objects look like."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.changes.planner import Load
from controller.changes.preflight import CHECKS
from controller.changes.preflight.ahead import ahead_of
from controller.changes.preflight.check import Check
from controller.reading.scene import Scene
from controller.resources import RESOURCES
from tests.support.manifests import objects_of
from tests.support.preflight import Manifest, Shelf, engine, look, memory_to, node, plan, pod, pods_of
from tierdeck.changes.plan import Refusal
from tierdeck.changes.wish import L0Wish, Wish

WRONG: tuple[Any, ...] = (None, True, 7, -1, 1e400, "", "x", "$(A)", "0" * 30, "{", [], [None, 3], {}, {"a": 1}, ["-"])
WISHES = (Wish(strategy="session"), Wish(l1_bytes=2**36), Wish(l0=L0Wish(blocks=5)), Wish(l2_bytes=2**40))

each = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)


def around() -> list[Manifest]:
    made = engine(args=["--max-model-len", "8192", "--max-num-seqs", "4"])
    others = [node("n1"), node("n2"), pod("a", "n1", memory="20Gi"), pod("t", "n2", labels={"app": "ai-toolkit"})]
    return [made, *pods_of(made, "n1", "n2"), *others]


def listed() -> dict[str, list[Manifest]]:
    base = "/api/v1/namespaces/llm"
    memory = {"requests.memory": "10Gi"}
    selector = {"matchLabels": {"app": "chat"}}
    return {
        f"{base}/resourcequotas": [{"metadata": {"name": "q"}, "spec": {"hard": memory}, "status": {"used": memory}}],
        f"{base}/limitranges": [
            {"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Pod", "max": {"memory": "1Gi"}}]}}
        ],
        "/apis/policy/v1/namespaces/llm/poddisruptionbudgets": [
            {"metadata": {"name": "b"}, "spec": {"selector": selector}, "status": {"disruptionsAllowed": 0}}
        ],
    }


@each
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_field_of_a_wrong_type_never_stops_it(check: Check, data: st.DataObject) -> None:
    manifests, lists = copy.deepcopy(around()), copy.deepcopy(listed())
    parts = [*manifests, *(one for some in lists.values() for one in some)]
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from(parts))
        below = [path for path in _paths(part) if path[0] not in ("kind", "metadata")]
        _put(part, data.draw(st.sampled_from(below or [("spec",)])), data.draw(st.sampled_from(WRONG)))
    seen = look(*around(), reader=Shelf(lists), load=data.draw(st.sampled_from([Load(), Load(5, 3)])))
    objects = objects_of(manifests)
    broken = replace(seen, objects=objects, scene=Scene(objects))
    ahead = ahead_of(broken, plan(*memory_to("90Gi")), data.draw(st.sampled_from(WISHES)))
    for found in check.find(ahead):
        if isinstance(found, Refusal):
            assert found.code in check.codes


@each
def test_where_nothing_can_be_seen_it_refuses_nothing_for_want_of_sight(check: Check) -> None:
    seen = look(*around(), reader=Shelf(forbidden=list(listed())))
    objects = replace(seen.objects, kinds={}, blind=dict.fromkeys(RESOURCES, "forbidden"))
    blind = replace(seen, objects=objects, scene=Scene(objects))
    ahead = ahead_of(blind, plan(*memory_to("90Gi")), Wish(l1_bytes=2**36))
    assert ahead.unread
    assert not [one for one in check.find(ahead) if isinstance(one, Refusal)]


def _paths(part: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document, the shallow ones too."""
    inner = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from _paths(value, (*above, key))


def _put(raw: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        if not isinstance(raw, (dict, list)) or (isinstance(raw, list) and len(raw) <= key):
            return
        raw = raw[key]
    if isinstance(raw, dict):
        raw[path[-1]] = copy.deepcopy(value)
