"""A stand-in for HyperPod's inference operator, which is closed: it renders endpoints and reports on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import rendering
from tests.cluster.loops import Loop
from tests.cluster.pod_states import now
from tests.cluster.rendering import API, KIND, ROUTING, SYSTEM, EnvHandling
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest, RefusedError

OPERATOR = "hyperpod-inference-operator-controller-manager"
_ROUTED = "tests/endpoint"
_REFUSAL = "intelligentRoutingSpec.enabled cannot be modified once it is set: delete the endpoint and make it anew"


class Hyperpod(Loop):
    """The operator. Its own Deployment stands in the cluster, and scaling that to 0 pauses it as on a real one.

    It renders an endpoint when its generation is new, when its Deployment is missing and after `upgrade`, and then
    replaces the whole Deployment. A patch by hand stays until then.

    Attributes:
        env: What this version makes of environment variables; set it before an edit or an upgrade.
        renders_models: Whether it renders JumpStartModels too.
    """

    def __init__(self, cluster: Cluster, env: EnvHandling = EnvHandling.KEEPS, version: str = "v3.2") -> None:
        super().__init__(cluster)
        self.env = env
        self.renders_models = False
        self._rendered: dict[str, int] = {}
        self._version = version

    def start(self) -> None:
        """Install it."""
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}
        self.rest.apply(namespace, manager="helm")
        self.rest.apply(self._own_deployment(1), manager="helm")
        super().start()

    def stop(self) -> None:
        """Uninstall it; what it rendered for endpoints in tests' namespaces goes with those."""
        super().stop()
        for one in self.rest.objects("Deployment", SYSTEM, "apps/v1"):
            self.rest.delete(one)
        for one in self.rest.objects("Service", SYSTEM):
            self.rest.delete(one)

    def upgrade(self, version: str, env: EnvHandling) -> None:
        """Another version takes over, which renders every endpoint anew."""
        with self.lock:
            self._version, self.env = version, env
            self._rendered.clear()
            self.rest.apply(self._own_deployment(1), manager="helm")

    def round(self) -> None:
        """Every endpoint, then the routers of those that are gone."""
        own = self.rest.find("Deployment", OPERATOR, SYSTEM, "apps/v1")
        if own is None or own["spec"]["replicas"] == 0:
            self._rendered.clear()  # a process that starts again knows nothing
            return
        configs = self.rest.objects(KIND, api=API)
        if self.renders_models:
            configs += [rendering.as_config(one) for one in self.rest.objects(rendering.MODEL, api=API)]
        deployments = {_key(one): one for one in self.rest.objects("Deployment", api="apps/v1")}
        for config in configs:
            if "deletionTimestamp" not in config["metadata"]:
                try:
                    self._look_at(config, deployments.get(_key(config)))
                except RefusedError as refused:
                    self._report(config, "DeploymentFailed", str(refused)[:1000], None)
        self._clear(configs, deployments)

    def _look_at(self, config: Manifest, found: Manifest | None) -> None:
        meta = config["metadata"]
        wanted = str(rendering.routing_enabled(config)).lower()
        if found is not None and found["metadata"].get("annotations", {}).get(ROUTING, wanted) != wanted:
            self._report(config, "DeploymentFailed", _REFUSAL, found)
            return
        if found is None or self._rendered.get(meta["uid"]) != meta["generation"]:
            self._render(config, found)
            self._rendered[meta["uid"]] = meta["generation"]
            self._report(config, "DeploymentInProgress", "rendered", found)
            return
        self._report(config, *_progress(found), found)

    def _render(self, config: Manifest, found: Manifest | None) -> None:
        made = rendering.deployment(config, self.env)
        if found is None:
            self.rest.create(made, fieldManager="manager")
        else:
            made["metadata"]["annotations"] |= found["metadata"].get("annotations", {})
            self.rest.replace(made, fieldManager="manager")
        if rendering.routing_enabled(config):
            router = rendering.router(config)
            router["metadata"]["annotations"] = {_ROUTED: f"{_key(config)}"}
            self.rest.apply(router, manager="manager")
        for service in rendering.services(config):
            self.rest.apply(service, manager="manager")

    def _report(self, config: Manifest, state: str, message: str, found: Manifest | None) -> None:
        """Write the status, if it says something new."""
        before = config.get("status", {})
        rolled = (found or {}).get("status", {})
        good = {"DeploymentComplete": "True", "DeploymentFailed": "False"}.get(state, "Unknown")
        says = {"type": "DeploymentReady", "status": good, "reason": state, "message": message}
        same = all((before.get("conditions") or [{}])[0].get(key) == value for key, value in says.items())
        generation, replicas = config["metadata"]["generation"], rolled.get("replicas", 0)
        last = before.get("deploymentStatus", {}).get("status")
        if (
            same
            and (before.get("observedGeneration"), before.get("replicas")) == (generation, replicas)
            and last == rolled
        ):
            return
        name = config["metadata"]["name"]
        status = {
            "observedGeneration": generation,
            "replicas": replicas,
            "selector": f"app={name}",
            "state": state,
            "conditions": [{**says, "observedGeneration": generation, "lastTransitionTime": now()}],
            "deploymentStatus": {
                "name": name,
                "deploymentObjectOverallState": state,
                "reason": state,
                "message": message,
                "lastUpdated": now(),
                "status": rolled,
            },
        }
        self.rest.merge(config, {"status": status}, "/status", fieldManager="manager")

    def _clear(self, configs: list[Manifest], deployments: dict[str, Manifest]) -> None:
        """Owner references don't reach into another namespace: routers are removed by hand."""
        present = {_key(one) for one in configs}
        for one in deployments.values():
            endpoint = one["metadata"].get("annotations", {}).get(_ROUTED, "")
            if endpoint and endpoint not in present:
                namespace, name = endpoint.split("/")
                meta = {"name": f"{name}-{namespace}-routing-service", "namespace": SYSTEM}
                self.rest.delete({"apiVersion": "v1", "kind": "Service", "metadata": meta})
                self.rest.delete(one)

    def _own_deployment(self, replicas: int) -> Manifest:
        labels = {"control-plane": "controller-manager"}
        container = {"name": "manager", "image": f"registry.example/hyperpod-inference-operator:{self._version}"}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": OPERATOR, "namespace": SYSTEM, "labels": labels},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }


def endpoint(namespace: str, name: str = "chat", **spec: object) -> Manifest:
    """A small endpoint that HyperPod would take; `spec` replaces its fields."""
    gpu = {"nvidia.com/gpu": 1}
    worker = {
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "/opt/ml/model", "--gpu-memory-utilization", "0.85"],
        "environmentVariables": [{"name": "PYTHONHASHSEED", "value": "0"}],
        "modelInvocationPort": {"containerPort": 8000, "name": "http"},
        "modelVolumeMount": {"name": "model", "mountPath": "/opt/ml/model"},
        "resources": {"requests": {"cpu": "8", "memory": "40Gi", **gpu}, "limits": gpu},
    }
    return {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "modelName": "llama-3-8b",
            "modelSourceConfig": {"modelSourceType": "huggingface", "huggingFaceModel": {"modelId": "an/llm"}},
            "instanceType": "ml.g5.12xlarge",
            "invocationEndpoint": "v1/completions",
            "replicas": 1,
            "kvCacheSpec": {
                "enableL1Cache": True,
                "enableL2Cache": True,
                "l2CacheSpec": {"l2CacheBackend": "tieredstorage"},
            },
            "intelligentRoutingSpec": {"enabled": True, "routingStrategy": "prefixaware"},
            "worker": worker,
            **spec,
        },
    }


@contextmanager
def running_hyperpod(cluster: Cluster, env: EnvHandling = EnvHandling.KEEPS) -> Iterator[Hyperpod]:
    """The operator, installed for one test."""
    operator = Hyperpod(cluster, env)
    operator.start()
    try:
        yield operator
    finally:
        try:
            operator.stop()
        finally:
            operator.close()


def _progress(found: Manifest) -> tuple[str, str]:
    """How far the rollout of a Deployment is, as the operator puts it."""
    status, meta = found.get("status", {}), found["metadata"]
    wanted = found["spec"]["replicas"]
    for one in status.get("conditions", []):
        failed = one["type"] == "ReplicaFailure" and one["status"] == "True"
        if failed or (one["type"], one["status"]) == ("Progressing", "False"):
            return "DeploymentFailed", one["message"]
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    if status.get("observedGeneration", 0) >= meta["generation"] and counts == [wanted] * 3:
        return "DeploymentComplete", "the deployment is ready"
    return "DeploymentInProgress", f"{counts[2]} of {wanted} replicas are available"


def _key(one: Manifest) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"
