"""What HyperPod's operator makes of an InferenceEndpointConfig, as far as it is known from outside."""

from __future__ import annotations

from enum import StrEnum

from tests.support.kube_rest import Manifest

SYSTEM = "hyperpod-inference-system"
API = "inference.sagemaker.aws.amazon.com/v1"
KIND = "InferenceEndpointConfig"
MODEL = "JumpStartModel"
ROUTING = "tests/routing-enabled"
"""The stand-in's own annotation: what `intelligentRoutingSpec.enabled` was when the endpoint was made."""
_L2 = {
    "LMCACHE_REMOTE_URL": "sagemaker-hyperpod://$(NODE_IP):9200",
    "LMCACHE_EXTRA_CONFIG": '{"sagemaker_hyperpod_shared_memory_name":"ai_toolkit_cache"}',
}
_PROBES = {"liveness": "livenessProbe", "readiness": "readinessProbe", "startup": "startupProbe"}


class EnvHandling(StrEnum):
    """What becomes of a worker's environment variables; reports differ by the operator's version."""

    KEEPS = "keeps"
    """The user's value stands, and the operator adds what is not there."""
    DUPLICATES = "duplicates"
    """The operator adds its own beside the user's of the same name."""
    STRIPS = "strips"
    """The user's variables that begin with LMCACHE_ are dropped."""


def as_config(model: Manifest) -> Manifest:
    """A JumpStartModel as the endpoint that is made of it: image, arguments and memory are the operator's choice."""
    spec, gpu = model["spec"], {"nvidia.com/gpu": 1}
    worker = {
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "/opt/ml/model"],
        "environmentVariables": spec.get("environmentVariables", []),
        "modelInvocationPort": {"containerPort": 8080, "name": "http"},
        "resources": {"requests": {"cpu": "8", "memory": "64Gi", **gpu}, "limits": {"memory": "64Gi", **gpu}},
    }
    kept = {name: spec[name] for name in ("kvCacheSpec", "intelligentRoutingSpec", "replicas") if name in spec}
    made = {**kept, "instanceType": spec["server"]["instanceType"], "worker": worker}
    return {**model, "apiVersion": API, "kind": MODEL, "spec": made}


def routing_enabled(config: Manifest) -> bool:
    """Whether the endpoint asks for a router."""
    return bool(config["spec"].get("intelligentRoutingSpec", {}).get("enabled", False))


def router_name(config: Manifest) -> str:
    """The name of the endpoint's router, and its label `app`."""
    return f"{config['metadata']['name']}-{config['metadata']['namespace']}-router"


def deployment(config: Manifest, env: EnvHandling) -> Manifest:
    """The endpoint's Deployment."""
    meta, spec = config["metadata"], config["spec"]
    name, labels = meta["name"], {"app": meta["name"]}
    extras = spec.get("kubernetes", {})
    pod: Manifest = {
        "containers": [
            _worker(name, spec, env),
            _container("reverse-proxy", "nginx:1.27", {"cpu": "100m", "memory": "256Mi"}, 8081),
            _container(
                "otel-collector", "otel/opentelemetry-collector:0.130.0", {"cpu": "100m", "memory": "256Mi"}, 9113
            ),
        ],
        **{
            key: extras[key]
            for key in ("initContainers", "schedulerName", "serviceAccountName", "volumes")
            if key in extras
        },
    }
    if "instanceType" in spec:
        pod["nodeSelector"] = {"node.kubernetes.io/instance-type": spec["instanceType"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": {ROUTING: str(routing_enabled(config)).lower()},
            "ownerReferences": [owner(config)],
        },
        "spec": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": labels},
            "progressDeadlineSeconds": spec.get("maxDeployTimeInSeconds", 3600),
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def router(config: Manifest) -> Manifest:
    """The endpoint's router, which lives in the operator's namespace."""
    name, spec = router_name(config), config["spec"]
    strategy = spec["intelligentRoutingSpec"].get("routingStrategy", "prefixaware")
    variables = {one["name"]: one.get("value", "") for one in spec["worker"].get("environmentVariables", [])}
    arguments = ["--port", "8081", "--service-discovery", "k8s", "--routing-logic", strategy]
    if "SESSION_KEY" in variables:
        arguments += ["--session-key", variables["SESSION_KEY"]]
    container = _container("router-container", "hyperpod-inference-router:v3.2", {"cpu": "1", "memory": "2Gi"}, 8081)
    side = _container(
        "otel-collector", "otel/opentelemetry-collector:0.130.0", {"cpu": "100m", "memory": "256Mi"}, 9113
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SYSTEM, "labels": {"app": name}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{**container, "args": arguments}, side]},
            },
        },
    }


def services(config: Manifest) -> list[Manifest]:
    """The endpoint's Service, and the router's if there is one."""
    meta = config["metadata"]
    port = config["spec"]["worker"]["modelInvocationPort"]["containerPort"]
    own = {"name": meta["name"], "namespace": meta["namespace"], "ownerReferences": [owner(config)]}
    made = [_service(own, meta["name"], {"name": "model", "port": port, "targetPort": port})]
    if routing_enabled(config):
        routing = {"name": f"{meta['name']}-{meta['namespace']}-routing-service", "namespace": SYSTEM}
        made.append(_service(routing, router_name(config), {"name": "https", "port": 443, "targetPort": 8081}))
    return made


def owner(config: Manifest) -> Manifest:
    """The reference that makes an object go with the endpoint."""
    meta = config["metadata"]
    kind = config.get("kind", KIND)
    return {"apiVersion": API, "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}


def environment(spec: Manifest, env: EnvHandling) -> list[Manifest]:
    """The worker's variables: the operator's own, then the user's as far as this version keeps them."""
    given: list[Manifest] = spec["worker"].get("environmentVariables", [])
    if env is EnvHandling.STRIPS:
        given = [one for one in given if not one["name"].startswith("LMCACHE_")]
    names = {one["name"] for one in given}
    own = [
        one
        for one in _own_variables(spec.get("kvCacheSpec"))
        if env is EnvHandling.DUPLICATES or one["name"] not in names
    ]
    return [*own, *given]


def _own_variables(cache: Manifest | None) -> list[Manifest]:
    if cache is None:
        return []
    made: list[Manifest] = []
    if cache.get("enableL1Cache", True):
        # What the operator puts here is not published; 5 GB is LMCache's own default.
        made += [{"name": "LMCACHE_LOCAL_CPU", "value": "True"}, {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "5.0"}]
    if cache.get("enableL2Cache", False):
        made.append({"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}})
        backend = cache.get("l2CacheSpec", {})
        if "tieredstorage" in backend.get("l2CacheBackend", "").lower():
            made += [{"name": name, "value": value} for name, value in _L2.items()]
        elif backend.get("l2CacheLocalUrl"):
            made.append({"name": "LMCACHE_REMOTE_URL", "value": backend["l2CacheLocalUrl"]})
    return made


def _worker(name: str, spec: Manifest, env: EnvHandling) -> Manifest:
    worker = spec["worker"]
    port = worker["modelInvocationPort"]
    probes = worker.get("probes", {})
    taken = {key: worker[key] for key in ("image", "command", "args", "workingDir", "resources") if key in worker}
    return {
        "name": name,
        **taken,
        "env": environment(spec, env),
        "ports": [{"name": port.get("name", "http"), "containerPort": port["containerPort"]}],
        **{field: probes[key] for key, field in _PROBES.items() if key in probes},
    }


def _container(name: str, image: str, requests: Manifest, port: int) -> Manifest:
    return {"name": name, "image": image, "resources": {"requests": requests}, "ports": [{"containerPort": port}]}


def _service(meta: Manifest, app: str, port: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": {"selector": {"app": app}, "ports": [port]},
    }
