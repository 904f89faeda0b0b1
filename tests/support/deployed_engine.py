"""A vLLM Deployment on a control plane without nodes; the test says of its pod what a node would."""

from __future__ import annotations

from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest, Rest


def engine_deployment(namespace: str, name: str = "chat", port: int = 8000) -> Manifest:
    """One replica of an engine."""
    labels = {"app": name}
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "Qwen/Qwen3-8B", "--port", str(port)],
        "ports": [{"containerPort": port}],
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def run_engine(cluster: Cluster, rest: Rest, namespace: str, address: str) -> Manifest:
    """Its pod, said to run at an address."""
    rest.apply(engine_deployment(namespace))
    chosen = {"labelSelector": "app=chat"}
    cluster.wait_until(lambda: len(rest.objects("Pod", namespace, **chosen)) == 1, "the engine's pod")
    (pod,) = rest.objects("Pod", namespace, **chosen)
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return rest.merge(pod, {"status": status}, "/status")
