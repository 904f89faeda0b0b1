"""A plan as patches for kustomize and as values for a chart, and what is left to a person."""

from __future__ import annotations

import pytest
import yaml

from tierdeck.changes.export import Exported, as_kustomize
from tierdeck.changes.helm_values import as_helm_values
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit, Json, Plan, Surface, Write
from tierdeck.deployed import ObjectRef
from tierdeck.errors import TierdeckError

ENGINE = ObjectRef("Deployment", "inference", "chat")
RESOURCE = ObjectRef("InferenceEndpointConfig", "inference", "chat")
VLLM = ("spec", "template", "spec", "containers", "[name=vllm]")
SIZE = "LMCACHE_MAX_LOCAL_CPU_SIZE"
SECRET = "hf_veryverysecret"  # what must not get out


def write(*edits: FieldEdit, ref: ObjectRef = ENGINE, api_version: str = "apps/v1") -> Write:
    return Write(ref, "/x", api_version, edits)


def documents(found: Exported) -> dict[str, Json]:
    return {name: yaml.safe_load(content) for name, content in found.files}


def test_a_patch_of_a_deployment_names_only_what_changes() -> None:
    edits = (
        FieldEdit((*VLLM, "args"), ["serve", "--a"], ["serve", "--b"]),
        FieldEdit((*VLLM, "env", f"[name={SIZE}]", "value"), "40", "60"),
        FieldEdit((*VLLM, "env", "[name=LMCACHE_LOCAL_CPU]"), ABSENT, {"name": "LMCACHE_LOCAL_CPU", "value": "True"}),
        FieldEdit((*VLLM, "env", "[name=OLD]"), {"name": "OLD", "value": "(not shown)"}, ABSENT),
        FieldEdit((*VLLM, "resources", "limits", "memory"), "64Gi", "84Gi"),
        FieldEdit(("spec", "paused"), True, ABSENT),
    )
    found = documents(as_kustomize(Plan((write(*edits),))))
    assert found == {
        "kustomization.yaml": {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "patches": [
                {
                    "path": "deployment-inference-chat.yaml",
                    "target": {"group": "apps", "version": "v1", "kind": "Deployment", "name": "chat"},
                }
            ],
        },
        "deployment-inference-chat.yaml": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "chat"},
            "spec": {
                "template": {
                    "spec": {
                        "containers": [
                            {
                                "name": "vllm",
                                "args": ["serve", "--b"],
                                "env": [
                                    {"name": SIZE, "value": "60"},
                                    {"name": "LMCACHE_LOCAL_CPU", "value": "True"},
                                    {"name": "OLD", "$patch": "delete"},
                                ],
                                "resources": {"limits": {"memory": "84Gi"}},
                            }
                        ]
                    }
                },
                "paused": None,
            },
        },
    }


def test_a_list_of_variables_planned_as_one_value_is_exported_entry_by_entry() -> None:
    before = [{"name": SIZE, "value": "40"}, {"name": "HF_TOKEN", "value": SECRET}, {"name": "OLD", "value": "1"}]
    after = [{"name": SIZE, "value": "60"}, {"name": "HF_TOKEN", "value": SECRET}]
    found = as_kustomize(Plan((write(FieldEdit((*VLLM, "env"), before, after)),)))
    text = dict(found.files)["deployment-inference-chat.yaml"]
    container = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]
    assert container == {"name": "vllm", "env": [{"name": SIZE, "value": "60"}, {"name": "OLD", "$patch": "delete"}]}
    assert SECRET not in text


def test_a_custom_resource_is_merged_by_its_maps_and_its_lists_are_whole() -> None:
    edits = (
        FieldEdit(("spec", "intelligentRoutingSpec", "routingStrategy"), "session", "prefixaware"),
        FieldEdit(("spec", "worker", "args"), ["--a"], ["--b"]),
    )
    plan = Plan((write(*edits, ref=RESOURCE, api_version="inference.sagemaker.aws.amazon.com/v1"),))
    assert documents(as_kustomize(plan))["inferenceendpointconfig-inference-chat.yaml"] == {
        "apiVersion": "inference.sagemaker.aws.amazon.com/v1",
        "kind": "InferenceEndpointConfig",
        "metadata": {"name": "chat"},
        "spec": {"intelligentRoutingSpec": {"routingStrategy": "prefixaware"}, "worker": {"args": ["--b"]}},
    }


def test_a_list_of_a_custom_resource_with_something_hidden_in_it_is_left_to_a_person() -> None:
    where = ("spec", "worker", "environmentVariables")
    token = {"name": "HF_TOKEN", "value": SECRET}
    edit = FieldEdit(where, [{"name": SIZE, "value": "40"}, token], [{"name": SIZE, "value": "60"}, token])
    found = as_kustomize(Plan((write(edit, ref=RESOURCE, api_version="inference.sagemaker.aws.amazon.com/v1"),)))
    assert found.files == ()
    assert found.by_hand == (
        f"InferenceEndpointConfig inference/chat, spec.worker.environmentVariables[name={SIZE}]: set it to 60.",
    )


@pytest.mark.parametrize(
    "edit",
    [
        FieldEdit((*VLLM, "env", "[name=HF_TOKEN]", "value"), "x", SECRET),
        FieldEdit((*VLLM, "env", "[name=HF_TOKEN]"), ABSENT, {"name": "HF_TOKEN", "value": SECRET}),
        FieldEdit((*VLLM, "args"), ["--api-key", "x"], ["--api-key", SECRET, "--port=1"]),
    ],
)
def test_what_is_secret_gets_into_no_file_and_no_sentence(edit: FieldEdit) -> None:
    found = as_kustomize(Plan((write(edit),)))
    assert SECRET not in str(found)
    assert found.files == ()
    assert len(found.by_hand) == 1


def test_what_is_no_kubernetes_object_can_t_be_exported() -> None:
    lab = Write(ObjectRef("Endpoint", "", "chat"), "http://lab", "", (FieldEdit(("strategy",), "a", "b"),), Surface.LAB)
    with pytest.raises(TierdeckError, match="writes no Kubernetes object"):
        as_kustomize(Plan((lab,)))
    both = as_kustomize(Plan((lab, write(FieldEdit(("spec", "replicas"), 1, 2)))))
    assert both.by_hand == ("Endpoint chat (lab) can't be exported.",)
    assert len(both.files) == 2


def carried(kind: Carrying, name: str, value: str | None) -> Carried:
    return Carried(ENGINE, "vllm", kind, name, value)


def test_values_of_the_chart_are_those_of_router_and_engine() -> None:
    edits = (FieldEdit((*VLLM, "resources", "requests", "memory"), "48Gi", "68Gi"),)
    carries = (
        carried(Carrying.ARGUMENT, "--gpu-memory-utilization", "0.85"),
        carried(Carrying.ENVIRONMENT, SIZE, "60"),
    )
    found = as_helm_values(Plan((write(*edits),), carries))
    assert documents(found) == {
        "model-spec-chat.yaml": {
            "vllmConfig": {"gpuMemoryUtilization": 0.85},
            "lmcacheConfig": {"cpuOffloadingBufferSize": "60"},
            "requestMemory": "68Gi",
        }
    }
    assert "# Into the entry of servingEngineSpec.modelSpec that makes Deployment inference/chat." in found.files[0][1]
    assert documents(as_helm_values(Plan((), strategy="session"))) == {
        "values.yaml": {"routerSpec": {"routingLogic": "session"}}
    }


def test_what_the_chart_would_make_nothing_of_is_said() -> None:
    half = as_helm_values(Plan((write(),), (carried(Carrying.ENVIRONMENT, SIZE, "0.5"),), strategy="session"))
    assert half.by_hand == (
        f"Deployment inference/chat: {SIZE} has to be 0.5 (the chart takes whole numbers above 0 only).",
    )
    blocks = as_helm_values(Plan((write(),), (carried(Carrying.ARGUMENT, "--num-gpu-blocks-override", "4096"),)))
    assert documents(blocks)["model-spec-chat.yaml"] == {
        "vllmConfig": {"extraArgs": ["--num-gpu-blocks-override=4096"]}
    }
    with pytest.raises(TierdeckError, match="no values for this change"):
        as_helm_values(Plan((write(ref=RESOURCE),)))
