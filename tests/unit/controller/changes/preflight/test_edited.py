"""An object as a plan's edits make it, and how a workload will replace its pods."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.preflight.amounts import limits_of, requests_of
from controller.changes.preflight.edited import edited
from controller.changes.preflight.rendered import rendered
from controller.changes.preflight.rollout import rollout_of
from tests.support.preflight import edit
from tierdeck.changes.plan import ABSENT, FieldEdit, Write
from tierdeck.deployed import Component, ObjectRef

TEMPLATE = ("spec", "template", "spec", "containers")
GIB = 2**30
NEITHER = {"maxSurge": 0, "maxUnavailable": "25%"}  # 25 % of 2 is 0.5, down 0: then one may be missing


def workload(**resources: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "resources": resources}]}}}}


def resources_of(raw: Any) -> Any:
    return raw["spec"]["template"]["spec"]["containers"][1]["resources"]


def test_a_field_is_put_where_its_path_leads_and_the_object_stays_as_it_was() -> None:
    before = workload(limits={"memory": "1Gi"})
    after = edited(before, [edit((*TEMPLATE, "[name=b]", "resources", "limits", "memory"), "2Gi")])
    assert resources_of(after) == {"limits": {"memory": "2Gi"}}
    assert resources_of(before) == {"limits": {"memory": "1Gi"}}


def test_what_a_path_needs_on_its_way_is_made() -> None:
    after: Any = edited({}, [edit((*TEMPLATE, "[name=x]", "args"), ["--a"])])
    assert after["spec"]["template"]["spec"]["containers"] == [{"name": "x", "args": ["--a"]}]


def test_a_field_that_goes_is_gone_and_nothing_is_made_for_it() -> None:
    after: Any = edited(workload(limits={"memory": "1Gi"}), [
        FieldEdit((*TEMPLATE, "[name=b]", "resources", "limits"), {"memory": "1Gi"}, ABSENT),
        FieldEdit((*TEMPLATE, "[name=z]", "resources", "limits"), None, ABSENT),
        FieldEdit(("spec", "other", "field"), None, ABSENT),
    ])  # fmt: skip
    assert after == workload()


def test_an_item_of_a_list_is_replaced_and_removed_by_its_name() -> None:
    env = ("env",)
    before = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    assert edited(before, [edit((*env, "[name=A]", "value"), "3")]) == {
        "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}]
    }
    assert edited(before, [edit((*env, "[name=A]"), ABSENT)]) == {"env": [{"name": "B", "value": "2"}]}


def custom(*edits: FieldEdit, kind: str = "InferenceEndpointConfig") -> Write:
    return Write(ObjectRef(kind, "ns", "chat"), "/x", "v1", edits)


def test_of_what_hyperpod_renders_the_worker_s_resources_become_the_container_s() -> None:
    ref, given = ObjectRef("Deployment", "ns", "chat"), ("b", Component.ENGINE)
    write = custom(edit(("spec", "worker", "resources", "requests", "memory"), "9Gi"))
    assert resources_of(rendered(ref, workload(), given, [write])) == {"requests": {"memory": "9Gi"}}


def test_of_what_production_stack_renders_request_and_limit_are_alike() -> None:
    ref, given = ObjectRef("Deployment", "ns", "chat"), ("b", Component.ENGINE)
    write = custom(edit(("spec", "deploymentConfig", "resources", "memory"), "9Gi"), kind="VLLMRuntime")
    expected = {"requests": {"memory": "9Gi"}, "limits": {"memory": "9Gi"}}
    assert resources_of(rendered(ref, workload(), given, [write])) == expected
    whole = custom(edit(("spec", "deploymentConfig", "resources"), {"memory": "9Gi"}), kind="VLLMRuntime")
    assert resources_of(rendered(ref, workload(), given, [whole])) == expected


def test_a_router_s_resources_are_no_engine_s() -> None:
    ref, given = ObjectRef("Deployment", "ns", "chat"), ("b", Component.ENGINE)
    write = custom(edit(("spec", "resources", "memory"), "9Gi"), kind="VLLMRouter")
    assert resources_of(rendered(ref, workload(), given, [write])) == {}
    assert resources_of(rendered(ref, workload(), ("b", Component.ROUTER), [write])) != {}


def test_prefill_and_decode_have_resources_of_their_own() -> None:
    write = custom(edit(("spec", "pdSpec", "prefillSpec", "resources", "limits", "memory"), "9Gi"))
    given = ("b", Component.ENGINE)
    of = {role: rendered(ObjectRef("Deployment", "ns", f"{role}-chat"), workload(), given, [write])
          for role in ("prefill", "decode")}  # fmt: skip
    assert resources_of(of["prefill"]) == {"limits": {"memory": "9Gi"}}
    assert resources_of(of["decode"]) == {}


@pytest.mark.parametrize(
    ("kind", "raw", "surge", "unavailable", "remaining"),
    [
        # 25 % of 4 is 1, up and down
        ("Deployment", {"spec": {"replicas": 4}}, 1, 1, 3),
        # 25 % of 3 is 0.75: up 1, down 0
        ("Deployment", {"spec": {"replicas": 3}}, 1, 0, 3),
        ("Deployment", {"spec": {"replicas": 1}}, 1, 0, 1),
        ("Deployment", {"spec": {"replicas": 3, "strategy": {"type": "Recreate"}}}, 0, 3, 0),
        ("Deployment", {"spec": {"replicas": 2, "strategy": {"rollingUpdate": NEITHER}}}, 0, 1, 1),
        ("StatefulSet", {"spec": {"replicas": 3}}, 0, 1, 2),
        ("StatefulSet", {"spec": {"replicas": 3, "updateStrategy": {"type": "OnDelete"}}}, 0, 0, 3),
        ("DaemonSet", {"status": {"desiredNumberScheduled": 5}}, 0, 1, 4),
    ],
)  # fmt: skip
def test_a_rollout_is_counted_as_kubernetes_does(
    kind: str, raw: dict[str, Any], surge: int, unavailable: int, remaining: int
) -> None:
    found = rollout_of(kind, raw)
    assert (found.surge, found.unavailable, found.remaining) == (surge, unavailable, remaining)


def test_a_pod_asks_for_its_containers_and_sidecars_or_for_its_largest_start() -> None:
    def one(memory: str, **more: Any) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"memory": memory}}, **more}

    sidecar = one("1Gi", restartPolicy="Always")
    # containers 2 + 3, sidecar 1: 6; the init container after the sidecar: 4 + 1 = 5
    small = {"containers": [one("2Gi"), one("3Gi")], "initContainers": [sidecar, one("4Gi")]}
    assert requests_of(small)["memory"] == 6 * GIB
    # the init container after the sidecar: 9 + 1 = 10
    assert requests_of({**small, "initContainers": [sidecar, one("9Gi")]})["memory"] == 10 * GIB


def test_a_limit_without_a_request_is_asked_for() -> None:
    pod = {"containers": [{"name": "c", "resources": {"limits": {"memory": "2Gi", "cpu": "500m"}}}]}
    assert {name: float(number) for name, number in requests_of(pod).items()} == {
        "memory": 2 * GIB,
        "cpu": 0.5,
        "pods": 1,
    }
    assert float(limits_of(pod)["memory"]) == 2 * GIB
