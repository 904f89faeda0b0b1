"""Stage 3 formats only where it is sure that nothing is erased; else it says why not, and what to ask for."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.objects import Objects
from controller.resources import CLAIMS, PODS, STATEFUL_SETS, STORAGE_CLASSES
from controller.stage import NoPlanError, Plan, View, Wishes
from controller.stages.curvine_pool import CURVINE_POOL
from tests.support.manifests import documents, objects_of

PATH = "/opt/dlami/nvme/curvine-data"
ASKED = {"first_start": "true"}


def kept(*kinds: str) -> list[dict[str, Any]]:
    """Those of the example's objects, deep copies."""
    return [one for one in copy.deepcopy(documents("curvine")) if one["kind"] in kinds]


def scaled_to_nothing() -> list[dict[str, Any]]:
    found = kept("StatefulSet", "ConfigMap")
    for one in found:
        one["spec"] = {**one.get("spec", {}), "replicas": 0}
        one["status"] = {"replicas": 0, "readyReplicas": 0}
    return found


def claim(name: str, **metadata: Any) -> dict[str, Any]:
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "curvine", **metadata},
            "status": {"phase": "Bound"}}  # fmt: skip


def workload(kind: str, folder: str, image: str = "busybox") -> dict[str, Any]:
    volume = {"name": "data", "hostPath": {"path": folder}}
    spec = {"containers": [{"name": "one", "image": image}], "volumes": [volume]}
    return {"kind": kind, "metadata": {"name": "other", "namespace": "kv"}, "spec": {"template": {"spec": spec}}}


def pool_on(folder: str, *parts: str) -> list[dict[str, Any]]:
    """The example's pool, with its class, its claim and its data in a folder of the nodes."""
    found = kept("StatefulSet", "StorageClass", "PersistentVolumeClaim")
    for one in found:
        if one["kind"] == "StatefulSet":
            one["spec"]["template"]["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": folder}}]
    return [one for one in found if not parts or one["metadata"]["name"] in parts or one["kind"] != "StatefulSet"]


def formats(plan: Plan) -> bool:
    is_told = any("curvine-first-start.yaml" in command for command in plan.commands)
    assert is_told is any(one.name == "curvine-first-start.yaml" for one in plan.files)
    return is_told


def servers(plan: Plan) -> bool:
    return any(one.name == "curvine-values.yaml" for one in plan.files)


SECOND = {"namespace": "kv2", "release": "kv2", "storage_class": "kv2", "claim": "kv2/l2"}
UNSURE: dict[str, tuple[View, dict[str, str], str]] = {
    "scaled to nothing": (View(objects_of(scaled_to_nothing())), {}, "pool curvine/curvine is there"),
    "StatefulSets forbidden": (
        View(Objects("prod", {}, {STATEFUL_SETS: "forbidden"})), {}, "statefulsets.apps can't be seen: forbidden"),
    "pods forbidden": (View(Objects("prod", {}, {PODS: "forbidden"})), {}, "pods can't be seen: forbidden"),
    "claims forbidden": (
        View(Objects("prod", {}, {CLAIMS: "forbidden"})), {}, "persistentvolumeclaims can't be seen: forbidden"),
    "classes forbidden": (
        View(Objects("prod", {}, {STORAGE_CLASSES: "forbidden"})), {},
        "storageclasses.storage.k8s.io can't be seen: forbidden"),
    "one namespace": (View(Objects("prod", {}), namespaces=("llm",)), {}, "only llm is looked into"),
    "a class of a pool that is not found": (
        View(objects_of(kept("StorageClass"))), {}, "StorageClass curvine-sc leads to a pool that is not found"),
    "a claim of a pool that is not found": (
        View(objects_of(kept("StorageClass", "PersistentVolumeClaim"))), {},
        "PersistentVolumeClaim llm/curvine-pvc of Curvine is Bound, and the pool that it lies in is not found"),
    "a mount of a pool that is not found": (
        View(objects_of([one for one in kept("Pod") if "standalone" in one["metadata"]["name"]])), {},
        "mounts a pool that is not found"),
    "volumes that its master left": (
        View(objects_of([claim("meta-curvine-master-0")])), {}, "curvine/meta-curvine-master-0 is what servers"),
    "labelled volumes that any pool left": (
        View(objects_of([claim("odd", labels={"app.kubernetes.io/name": "curvine"})])), {}, "curvine/odd is what"),
    "its names are taken": (
        View(objects_of([{"kind": "StatefulSet", "metadata": {"name": "l2-curvine-worker", "namespace": "kv"}}])),
        {"namespace": "kv", "release": "l2"}, "StatefulSet kv/l2-curvine-worker has the name of one of its servers"),
    "another pool in the same folder": (
        View(objects_of(pool_on(PATH))), SECOND, f"StatefulSet curvine/curvine-worker uses {PATH}"),
    "another pool above it": (
        View(objects_of(pool_on("/opt/dlami/nvme/"))), SECOND, "curvine-worker uses /opt/dlami/nvme/ of its nodes"),
    "another pool whose workers are not found": (
        View(objects_of(pool_on("/mnt/other", "curvine-master"))), SECOND, "no worker of pool curvine/curvine"),
    "something else in the same folder": (
        View(objects_of([workload("DaemonSet", f"{PATH}/x")])), {}, f"DaemonSet kv/other uses {PATH}/x"),
    "a pool by hand": (
        View(objects_of([workload("Deployment", "/opt/dlami", "a/curvine:1")])), {}, "kv/other uses /opt/dlami of"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSURE)
def test_what_may_hold_data_is_not_formatted_without_being_asked_and_the_reason_is_told(name: str) -> None:
    view, wishes, reason = UNSURE[name]
    plan = CURVINE_POOL.plan(view, Wishes(wishes))
    assert not formats(plan)
    assert not servers(plan)  # they would change a pool that is not seen
    assert reason in " ".join(plan.notes)
    (offer,) = [note for note in plan.notes if "Where there is nothing to lose: --set first_start=true" in note]
    assert f"formats {PATH} of each node" in offer
    assert "lost for good" in offer

    asked = CURVINE_POOL.plan(view, Wishes({**wishes, **ASKED}))
    assert formats(asked)
    assert servers(asked)
    assert reason in " ".join(asked.notes)
    assert any("it is not sure that nothing is erased" in note and "lost for good" in note for note in asked.notes)


SURE = {
    "an empty cluster": (View(Objects("prod", {})), {}),
    "another pool elsewhere on the nodes": (View(objects_of(pool_on("/mnt/other"))), SECOND),
    "something else above the folder": (View(objects_of([workload("DaemonSet", "/")])), {}),
}


@pytest.mark.parametrize("name", SURE)
def test_a_new_pool_gets_its_first_start_where_nothing_is_to_be_lost(name: str) -> None:
    view, wishes = SURE[name]
    plan = CURVINE_POOL.plan(view, Wishes(wishes))
    assert formats(plan)
    assert not any("not sure" in note for note in plan.notes)


def test_a_pool_that_has_run_is_not_formatted_even_where_that_is_asked_for() -> None:
    view = View(objects_of(documents("curvine")))
    with pytest.raises(NoPlanError, match="pool curvine/curvine has run: a first start would erase it"):
        CURVINE_POOL.plan(view, Wishes(ASKED))
