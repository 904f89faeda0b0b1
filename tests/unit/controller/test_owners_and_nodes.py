"""What else writes to an object, and how nodes are."""

from __future__ import annotations

from typing import Any

from controller.objects import Objects
from controller.reading.nodes import nodes_of
from controller.reading.owners import changed_by, owners_of
from tests.support.manifests import objects_of
from tierdeck.deployed import ObjectRef, Owner

REF = ObjectRef("Deployment", "ns", "chat")
ARGS = (("spec", "template", "spec", "containers", "*", "args"),)


def owners(metadata: dict[str, Any], *others: dict[str, Any]) -> list[tuple[str, str]]:
    found = owners_of(objects_of(others), [(REF, {"metadata": metadata})], ARGS)
    return [(owner.tool, owner.name) for owner in found]


def scaler(kind: str, name: str, **more: Any) -> dict[str, Any]:
    aim = {"scaleTargetRef": {"kind": "Deployment", "name": "chat"}}
    return {"kind": kind, "metadata": {"namespace": "ns", "name": name, **more}, "spec": aim}


def test_gitops_and_helm_are_told_by_their_labels_and_annotations() -> None:
    assert owners({"annotations": {"argocd.argoproj.io/tracking-id": "llm:apps/Deployment:ns/chat"}}) == [
        ("argo-cd", "llm")
    ]
    assert owners({"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}) == [("flux", "apps")]
    assert owners({"annotations": {"meta.helm.sh/release-name": "stack"}}) == [("helm", "stack")]
    assert owners({"labels": {"app.kubernetes.io/instance": "x"}}) == []


def test_an_hpa_of_keda_is_keda_s() -> None:
    assert owners({}, scaler("HorizontalPodAutoscaler", "chat")) == [("hpa", "chat")]
    assert owners({}, scaler("HorizontalPodAutoscaler", "keda-hpa-chat-so")) == [("keda", "chat-so")]
    both = scaler("ScaledObject", "chat-so"), scaler("HorizontalPodAutoscaler", "keda-hpa-chat-so")
    assert owners({}, *both) == [("keda", "chat-so")]


def test_a_hand_that_edited_what_matters_is_named() -> None:
    def entry(manager: str, time: str, name: str) -> dict[str, Any]:
        inner: dict[str, Any] = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"vllm"}': {f"f:{name}": {}}}}}}
        return {"manager": manager, "time": time, "fieldsV1": {"f:spec": inner}}

    fields = [
        entry("kubectl-edit", "2026-11-20T08:00:00Z", "args"),
        entry("helm", "2026-11-01T08:00:00Z", "args"),
        entry("kube-controller-manager", "2026-11-30T08:00:00Z", "image"),
    ]
    raw = {"metadata": {"managedFields": fields}}
    assert changed_by(raw, ARGS) == "kubectl-edit"
    assert owners_of(Objects("prod", {}), [(REF, raw)], ARGS) == (
        Owner("kubectl-edit", "", "managedFields of Deployment ns/chat"),
    )


def test_a_node_tells_its_group_and_what_is_wrong_with_it() -> None:
    raw = {
        "kind": "Node",
        "metadata": {
            "name": "node-1",
            "uid": "n",
            "labels": {"sagemaker.amazonaws.com/instance-group-name": "gpus",
                       "node.kubernetes.io/instance-type": "ml.g6e.4xlarge"},
        },
        "spec": {"unschedulable": True},
        "status": {
            "allocatable": {"cpu": "15500m", "memory": "120Gi", "nvidia.com/gpu": "4"},
            "conditions": [{"type": "Ready", "status": "Unknown"}, {"type": "MemoryPressure", "status": "False"},
                           {"type": "DiskPressure", "status": "True"}],
        },
    }  # fmt: skip
    (node,) = nodes_of(objects_of([raw]))
    assert (node.group, node.instance_type, node.is_schedulable) == ("gpus", "ml.g6e.4xlarge", False)
    assert node.pressures == ("DiskPressure", "NotReady")
    # 120 × 2^30
    assert (node.cpu, node.memory_bytes, node.gpus) == (15.5, 128849018880, 4)
