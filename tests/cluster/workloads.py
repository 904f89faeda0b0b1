"""Small manifests of engines without an operator, for tests of the bed and of the controller."""

from __future__ import annotations

from tests.support.kube_rest import Manifest

IMAGE = "vllm/vllm-openai:v0.32.0"


def engine_pod(namespace: str, name: str = "engine", gpus: int = 1, memory: str = "16Gi") -> Manifest:
    """A pod that wants GPUs."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": _pod_spec(gpus, memory),
    }


def engine_deployment(
    namespace: str, name: str = "engine", replicas: int = 1, gpus: int = 1, memory: str = "16Gi"
) -> Manifest:
    """A Deployment of engines; its pods have the label `app`, the deployment's name."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(gpus, memory)},
        },
    }


def condition_of(one: Manifest | None, kind: str) -> Manifest:
    """An object's condition of this type; empty while there is none."""
    conditions = (one or {}).get("status", {}).get("conditions", [])
    return next((dict(found) for found in conditions if found["type"] == kind), {})


def _pod_spec(gpus: int, memory: str) -> Manifest:
    gpu = {"nvidia.com/gpu": str(gpus)}
    resources = {"requests": {"cpu": "2", "memory": memory, **gpu}, "limits": gpu}
    return {"containers": [{"name": "vllm", "image": IMAGE, "resources": resources}]}
