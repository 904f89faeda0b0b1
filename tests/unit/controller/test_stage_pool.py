"""Stage 3: what is found of a Curvine pool, and the files that bring one about."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from controller.objects import Objects
from controller.stage import NoPlanError, Plan, State, View, Wishes
from controller.stage_told import plan_text
from controller.stages.curvine_pool import CURVINE_POOL
from tests.support.manifests import documents, objects_of
from tierdeck.errors import UsageError

EMPTY = View(Objects("prod", {}))


def gpu_node(name: str, gpus: str = "1") -> dict[str, Any]:
    labels = {"sagemaker.amazonaws.com/compute-type": "hyperpod"}
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    allocatable = {"nvidia.com/gpu": gpus} if gpus else {}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"taints": [taint]},
            "status": {"allocatable": allocatable}}  # fmt: skip


def storage_class(name: str, provisioner: str, default: str = "false") -> dict[str, Any]:
    noted = {"storageclass.kubernetes.io/is-default-class": default}
    return {"kind": "StorageClass", "metadata": {"name": name, "annotations": noted}, "provisioner": provisioner}


def files(plan: Plan) -> dict[str, Any]:
    return {one.name: yaml.safe_load(one.text) for one in plan.files}


def pool(**changed: Any) -> View:
    """The example, whole: its master is ready and its driver complete; `changed` goes to its StorageClass."""
    found = copy.deepcopy(documents("curvine"))
    controller = {
        "kind": "Deployment",
        "metadata": {"name": "curvine-csi-controller", "namespace": "curvine"},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "curvine-csi-controller"}}}},
        "status": {"readyReplicas": 1},
    }
    for one in found:
        if one["metadata"]["name"] == "curvine-master":
            one["status"] = {"readyReplicas": 1}
        if one["kind"] == "StorageClass":
            one |= {"reclaimPolicy": "Retain", **changed}
    return View(objects_of([*found, controller]))


def test_a_pool_that_lacks_nothing_is_done() -> None:
    assert CURVINE_POOL.look(pool()).state is State.DONE


@pytest.mark.parametrize(
    ("changed", "about"),
    [
        ({"reclaimPolicy": "Delete"}, "reclaimPolicy"),
        ({"allowVolumeExpansion": True}, "allowVolumeExpansion"),
        ({"parameters": {"master-addrs": "elsewhere:8995"}}, "parameters.master-addrs"),
    ],
)
def test_what_is_wrong_with_a_storage_class_is_named_with_its_field(changed: dict[str, Any], about: str) -> None:
    found = [one for one in CURVINE_POOL.look(pool(**changed)).evidence if one.state is not State.DONE]
    assert [one.about for one in found] == [f"StorageClass curvine-sc, {about}"]


def test_a_claim_that_is_not_bound_is_not_done() -> None:
    found = copy.deepcopy(documents("curvine"))
    claim = next(one for one in found if one["kind"] == "PersistentVolumeClaim")
    claim["status"]["phase"] = "Pending"
    evidence = {one.about: one for one in CURVINE_POOL.look(View(objects_of(found))).evidence}
    told = evidence["PersistentVolumeClaim llm/curvine-pvc, status.phase"]
    assert (told.state, told.found) == (State.NOT_DONE, "Pending")


def test_the_first_start_formats_and_no_other_does() -> None:
    plan = CURVINE_POOL.plan(EMPTY, Wishes())
    made = files(plan)
    assert made["curvine-first-start.yaml"] == {
        "cluster": {"formatMaster": True, "formatWorker": True, "formatJournal": True}
    }
    flags = {name: on for name, on in made["curvine-values.yaml"]["cluster"].items() if name.startswith("format")}
    assert flags == {"formatMaster": False, "formatWorker": False, "formatJournal": False}
    helms = [one for one in plan.commands if " curvine curvine/curvine " in one]
    assert ["curvine-first-start.yaml" in one for one in helms] == [True, False]
    # install fails where the release is there: commands that are run again format nothing
    assert [one.partition(" curvine ")[0] for one in helms] == ["helm install", "helm upgrade --install"]


def test_a_pool_that_is_there_keeps_its_servers_class_and_claim() -> None:
    plan = CURVINE_POOL.plan(pool(), Wishes())
    assert list(files(plan)) == ["curvine-csi-values.yaml"]  # none of 100Gi on NVMe for a pool of 200 and 100 GB
    assert files(plan)["curvine-csi-values.yaml"]["image"]["tag"] == "v0.4.1"
    assert [one.split(" -n ")[0] for one in plan.commands] == [
        "helm upgrade --install curvine-csi curvine/curvine-csi",
        "tierdeck stages",
    ]
    told = " ".join(plan.notes)
    assert "nothing is planned for its servers" in told
    assert "The pool has run: there is no file for a first start" in told
    assert "llm/curvine-pvc is Bound and stays" in told


def test_what_is_said_of_servers_that_are_not_planned_is_told_to_be_in_vain() -> None:
    notes = CURVINE_POOL.plan(pool(), Wishes({"workers": "3", "worker_size": "1Gi"})).notes
    assert any("--set workers, worker_size" in note for note in notes)


def test_the_undo_deletes_the_claims_that_are_there() -> None:
    commands = CURVINE_POOL.undo(pool(), Wishes()).commands
    assert [one for one in commands if "delete pvc" in one] == ["kubectl delete pvc curvine-pvc -n llm"]


def test_names_follow_the_rule_of_the_chart() -> None:
    plan = CURVINE_POOL.plan(EMPTY, Wishes({"namespace": "kv", "release": "l2"}))
    waits = [one.split()[3] for one in plan.commands if one.startswith("kubectl rollout")]
    assert waits == ["statefulset/l2-curvine-master", "statefulset/l2-curvine-worker"] * 2
    master = "l2-curvine-master-0.l2-curvine-master.kv.svc.cluster.local:8995"
    assert files(plan)["storage-class.yaml"]["parameters"]["master-addrs"] == master


def test_names_of_a_pool_that_is_there_are_those_of_its_masters() -> None:
    found = [one for one in copy.deepcopy(documents("curvine")) if one["kind"] != "StorageClass"]
    masters = next(one for one in found if one["metadata"]["name"] == "curvine-master")
    masters["metadata"]["name"] = "kv-master"
    masters["spec"] |= {"replicas": 3, "serviceName": "kv"}
    made = files(CURVINE_POOL.plan(View(objects_of(found)), Wishes({"claim": "llm/other"})))
    assert made["storage-class.yaml"]["parameters"]["master-addrs"].split(",") == [
        f"kv-master-{number}.kv.curvine.svc.cluster.local:8995" for number in range(3)
    ]


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"namespace": "kv2", "release": "kv2"}, "StorageClass curvine-sc is there and leads elsewhere"),
        ({"claim": "llm/other"}, "PersistentVolumeClaim llm/other is there and is not of StorageClass curvine-sc"),
    ],
)
def test_what_can_not_be_applied_is_not_planned(wishes: dict[str, str], words: str) -> None:
    other = {"kind": "PersistentVolumeClaim", "metadata": {"name": "other", "namespace": "llm"},
             "spec": {"storageClassName": "efs"}}  # fmt: skip
    with pytest.raises(NoPlanError, match=words):
        CURVINE_POOL.plan(View(objects_of([*documents("curvine"), other])), Wishes(wishes))


def test_a_label_that_other_nodes_have_too_selects_no_node() -> None:
    plan = CURVINE_POOL.plan(View(objects_of([gpu_node("gpu"), gpu_node("cpu", gpus="")])), Wishes())
    worker = files(plan)["curvine-values.yaml"]["worker"]
    assert (worker["replicas"], "nodeSelector" in worker) == (1, False)
    assert any("set nodeSelector of master and worker" in note for note in plan.notes)


def test_there_is_a_worker_per_gpu_node_on_its_nvme_and_the_master_is_on_ebs() -> None:
    classes = [storage_class("ebs-old", "ebs.csi.aws.com"), storage_class("ebs-gp3", "ebs.csi.aws.com", "true")]
    nodes = [gpu_node("a"), gpu_node("b"), {"kind": "Node", "metadata": {"name": "cpu"}}]
    view = View(objects_of([*nodes, *classes, storage_class("efs", "efs.csi.aws.com")]))
    wishes = Wishes({"data_paths": "/nvme/1,/nvme/2", "worker_size": "400Gi"})
    values = files(CURVINE_POOL.plan(view, wishes))["curvine-values.yaml"]
    assert values["worker"]["replicas"] == 2
    assert values["worker"]["antiAffinity"] == {"enabled": True, "type": "required"}
    assert values["worker"]["nodeSelector"] == {"sagemaker.amazonaws.com/compute-type": "hyperpod"}
    assert values["worker"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    directories = values["worker"]["storage"]["dataDirs"]
    assert [(one["hostPath"], one["size"], one["mountPath"], one["storageClass"]) for one in directories] == [
        ("/nvme/1", "400Gi", "/data/data1", ""),
        ("/nvme/2", "400Gi", "/data/data2", ""),
    ]
    assert {one["storageClass"] for one in values["master"]["storage"].values()} == {"ebs-gp3"}


@pytest.mark.parametrize(
    ("version", "port"), [("0.3.2-alpha", "9002"), ("0.4.1", "9002"), ("0.4.2", "9003"), ("0.10.0", "9003")]
)
def test_the_ports_are_those_of_the_version(version: str, port: str) -> None:
    made = files(CURVINE_POOL.plan(EMPTY, Wishes({"version": version})))
    assert made["storage-class.yaml"]["parameters"]["web-port"] == port
    assert (made["curvine-values.yaml"]["master"]["webPort"], made["curvine-values.yaml"]["worker"]["webPort"]) == (
        9000,
        9001,
    )


def test_the_storage_class_keeps_files_and_lets_expired_ones_go() -> None:
    made = files(CURVINE_POOL.plan(EMPTY, Wishes({"ttl": "7d"})))["storage-class.yaml"]
    assert (made["provisioner"], made["reclaimPolicy"], made["allowVolumeExpansion"]) == ("curvine", "Retain", False)
    assert made["parameters"] == {
        "master-addrs": "curvine-master-0.curvine-master.curvine.svc.cluster.local:8995",
        "fs-path": "/l2cache",
        "path-type": "DirectoryOrCreate",
        "web-port": "9002",
        "client.ttl-ms": "168h",  # 7 × 24
        "client.ttl-action": "delete",
    }
    without = files(CURVINE_POOL.plan(EMPTY, Wishes()))["storage-class.yaml"]["parameters"]
    assert not [name for name in without if name.startswith("client.")]


def test_a_time_to_live_is_planned_only_where_it_is_asked_for_and_with_what_it_costs() -> None:
    def notes(**values: str) -> str:
        return " ".join(CURVINE_POOL.plan(EMPTY, Wishes(values)).notes)

    assert "before it is full, room has to be made. docs/janitor.md" in notes()
    assert "loses its directory, and L2 with it until its engines start again" in notes(ttl="24h")


def test_the_claim_is_for_all_nodes() -> None:
    made = files(CURVINE_POOL.plan(EMPTY, Wishes({"claim": "llm/l2"})))["claim.yaml"]
    assert (made["metadata"], made["spec"]["accessModes"]) == ({"name": "l2", "namespace": "llm"}, ["ReadWriteMany"])


def test_the_whole_plan_is_one_stream_of_yaml() -> None:
    plan = CURVINE_POOL.plan(EMPTY, Wishes())
    documents_of_it = list(yaml.safe_load_all(plan_text(CURVINE_POOL, plan, "plan")))
    assert documents_of_it == list(files(plan).values())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"size": "1Gi"}, "--set size: this stage has no such value. It has: claim, data_paths"),
        ({"workers": "many"}, "--set workers=many: a number of workers is needed"),
        ({"worker_size": "100GB"}, "--set worker_size=100GB: a size of each data directory, such as 100Gi, is needed"),
        ({"ttl": "1.5h"}, "--set ttl=1.5h: a time such as 24h or 7d, or none, is needed"),
        ({"data_paths": "nvme"}, "--set data_paths=nvme: a path"),
        ({"claim": "l2"}, "--set claim=l2: namespace/name"),
    ],
)
def test_a_wish_that_can_not_be_used_is_refused_in_a_sentence(values: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as error:
        CURVINE_POOL.plan(EMPTY, Wishes(values))
    assert error.value.line().startswith(words)


def test_what_may_be_in_another_namespace_is_not_missing() -> None:
    found = CURVINE_POOL.look(View(Objects("prod", {}), namespaces=("llm",))).evidence
    told = {one.about: (one.state, one.found) for one in found}
    reason = "no master and no worker is found in llm, and other namespaces are not looked into"
    assert told["Curvine's servers"] == (State.UNKNOWN, reason)
    assert told["StorageClass"][0] is State.NOT_DONE  # it belongs to no namespace
