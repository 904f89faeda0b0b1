"""HyperPod's example as a planner looks at it: with the live definition, an operator, and an injector that works."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.changes.planner import Look
from controller.injector.wired import Wired, wired
from controller.reading.configs import Configs
from controller.reading.opted_in import policy_of
from controller.reading.origin import Origin
from tests.support.json_patch import patched
from tests.support.manifests import objects_of
from tests.support.planning import Planned, planned
from tierdeck.deployed import ObjectRef
from tierdeck.l2.file import L2File, parse_l2
from tierdeck.l2.policy import L2Policy

_CRDS = Path(__file__).parents[1] / "fixtures" / "crds"
_GROUP = "inference.sagemaker.aws.amazon.com"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/tierdeck/endpointslices"
GATEWAYS = f"/apis/{_GROUP}/v1alpha1/namespaces/inference/inferencegatewayconfigs"


def hyperpod(version: str = "v3.2") -> Planned:
    """The endpoint `inference/chat`, with an operator of a version."""
    made = planned("hyperpod")
    made.documents.append(operator(version))
    for plural in ("inferenceendpointconfigs", "jumpstartmodels"):
        made.others.append((ObjectRef("CustomResourceDefinition", "", f"{plural}.{_GROUP}"), definition(plural)))
    return made


def definition(plural: str) -> dict[str, Any]:
    """A custom resource's, as the chart has it; each call gives another copy."""
    found: dict[str, Any] = json.loads(_definition(plural))
    return found


@cache
def _definition(plural: str) -> str:
    return json.dumps(yaml.safe_load((_CRDS / f"nowebhook-v1-{_GROUP}_{plural}.yaml").read_text("utf-8")))


def chat(made: Planned) -> Look:
    return made.look("hyperpod", "inference/chat")


def source(made: Planned) -> dict[str, Any]:
    """The custom resource's `spec`."""
    found: dict[str, Any] = made.pick("InferenceEndpointConfig", "chat")["spec"]
    return found


def everywhere(made: Planned) -> list[dict[str, Any]]:
    """The engine's container in the Deployment and in each of its pods."""
    pods = [one["spec"] for one in made.pods("chat")]
    specs = [made.pick("Deployment", "chat")["spec"]["template"]["spec"], *pods]
    return [spec["containers"][0] for spec in specs]


def operator(version: str, replicas: int = 1) -> dict[str, Any]:
    container = {"name": "manager", "image": f"registry.example/hyperpod-inference-operator:{version}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hyperpod-inference-controller-manager", "namespace": "hyperpod-inference-system"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def l2_by_hand(made: Planned) -> None:
    """The article's patch: a claim mounted into Deployment and pods, and the address of a folder on it."""
    curvine = planned("curvine")
    for one in curvine.documents:
        if one["kind"] == "PersistentVolumeClaim":
            one["metadata"]["namespace"] = "inference"
    made.documents += curvine.documents
    specs = [made.pick("Deployment", "chat")["spec"]["template"]["spec"], *(one["spec"] for one in made.pods("chat"))]
    for spec in specs:
        spec["volumes"] = [{"name": "curvine-cache", "persistentVolumeClaim": {"claimName": "curvine-pvc"}}]
        engine = spec["containers"][0]
        engine["volumeMounts"] = [{"name": "curvine-cache", "mountPath": "/mnt/curvine/l2cache"}]
        for one in engine["env"]:
            if one["name"] == "LMCACHE_REMOTE_URL":
                one["value"] = "fs://localhost:0/mnt/curvine/l2cache/"


def l2_by_injector(made: Planned, written: str = "{endpoints: {inference/chat: {claim: curvine-pvc}}}") -> None:
    """The pods as the injector made them, and the injector itself."""
    curvine = planned("curvine")
    for one in curvine.documents:
        if one["kind"] == "PersistentVolumeClaim":
            one["metadata"]["namespace"] = "inference"
    made.documents += curvine.documents
    file = parse_l2(written, "l2.yaml")
    objects = replace(objects_of(made.documents), l2=file)
    config, workload = made.pick("InferenceEndpointConfig", "chat"), made.pick("Deployment", "chat")
    for pod in made.pods("chat"):
        origin = Origin(
            (ObjectRef("Pod", "inference", pod["metadata"]["name"]), pod),
            (ObjectRef("Deployment", "inference", "chat"), workload),
            (ObjectRef("InferenceEndpointConfig", "inference", "chat"), config),
        )
        policy = policy_of(file, origin.objects)
        assert isinstance(policy, L2Policy)
        found = wired(origin, Configs(objects, "inference"), policy)
        assert isinstance(found, Wired)
        made.documents[made.documents.index(pod)] = patched(pod, found.patch.operations)
    injector(made, file)


def webhook(**over: Any) -> dict[str, Any]:
    """The injector's webhook as the chart configures it."""
    hook = {
        "name": "l2.tierdeck.io",
        "clientConfig": {"service": {"namespace": "tierdeck", "name": "tierdeck-l2"}, "caBundle": "LS0t"},
        "namespaceSelector": {
            "matchLabels": {"tierdeck.io/l2-injection": "enabled"},
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["tierdeck"]}],
        },
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        **over,
    }
    return {"metadata": {"name": "tierdeck-l2"}, "webhooks": [hook]}


def ready_slice(*, is_ready: bool = True) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "tierdeck-l2"}
    return {"metadata": {"name": "tierdeck-l2-x", "labels": labels}, "endpoints": [{"conditions": {"ready": is_ready}}]}


def injector(made: Planned, file: L2File) -> None:
    """The injector, configured and ready; what it did to pods is theirs to show."""
    made.l2 = file
    labels = {"tierdeck.io/l2-injection": "enabled", "kubernetes.io/metadata.name": "inference"}
    made.others.append((ObjectRef("Namespace", "", "inference"), {"metadata": {"name": "inference", "labels": labels}}))
    made.lists[WEBHOOKS] = [webhook()]
    made.lists[SLICES] = [ready_slice()]
