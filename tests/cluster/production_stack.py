"""A stand-in for production-stack's operator: what it renders, and which changes it notices.

Source: vllm-project/production-stack, operator/internal/controller: vllmruntime_controller.go (deploymentNeedsUpdate
compares image, resources, lmCacheConfig by the environment, and the annotations that the object states) and
vllmrouter_controller.go (image, resources, arguments).
"""

from __future__ import annotations

from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest

API = "production-stack.vllm.ai/v1alpha1"
RUNTIME, ROUTER = "VLLMRuntime", "VLLMRouter"
_SETTINGS = {
    "LMCACHE_MAX_LOCAL_CPU_SIZE": "cpuOffloadingBufferSize",
    "LMCACHE_MAX_LOCAL_DISK_SIZE": "diskOffloadingBufferSize",
    "LMCACHE_REMOTE_URL": "remoteUrl",
}


class Operator:
    """Of one namespace; it acts when it is told to."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._rest = cluster.rest
        self._namespace = namespace

    def reconcile(self) -> list[str]:
        """Bring Deployments in line as far as a difference is noticed; the names of those that were written."""
        written = []
        for kind, render in ((RUNTIME, _runtime), (ROUTER, _router)):
            for one in self._rest.objects(kind, self._namespace, API):
                wanted = render(one)
                live = self._rest.find("Deployment", one["metadata"]["name"], self._namespace, "apps/v1")
                if live is None:
                    self._rest.create(wanted, fieldManager="manager")
                elif _is_noticed(kind, wanted, live, one):
                    self._rest.replace(wanted, fieldManager="manager")  # whatever its version, as upstream does
                else:
                    continue
                written.append(one["metadata"]["name"])
        return written


def _is_noticed(kind: str, wanted: Manifest, live: Manifest, one: Manifest) -> bool:
    new, old = _container(wanted), _container(live)
    if new["image"] != old["image"] or new["resources"] != old["resources"]:
        return True
    if kind == ROUTER:
        return bool(new["args"] != old["args"])
    carried = {entry["name"]: entry.get("value", "") for entry in old.get("env", [])}
    cache = one["spec"].get("lmCacheConfig", {})
    if any(cache.get(field, "") != carried.get(name, "") for name, field in _SETTINGS.items()):
        return True
    stated = wanted["spec"]["template"]["metadata"].get("annotations", {})
    present = live["spec"]["template"]["metadata"].get("annotations", {})
    return any(present.get(name) != value for name, value in stated.items())


def _container(deployment: Manifest) -> Manifest:
    found: Manifest = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def _runtime(one: Manifest) -> Manifest:
    spec = one["spec"]
    config, cache, deployment = spec["vllmConfig"], spec.get("lmCacheConfig", {}), spec["deploymentConfig"]
    args = [spec["model"]["modelURL"], "--tensor-parallel-size", str(config.get("tensorParallelSize", 1))]
    if config.get("gpuMemoryUtilization"):
        args += ["--gpu_memory_utilization", config["gpuMemoryUtilization"]]
    args += config.get("extraArgs", [])
    env: list[Manifest] = []
    if cache.get("enabled"):
        args += ["--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}']
        env += [{"name": name, "value": cache[field]} for name, field in _SETTINGS.items() if cache.get(field)]
        env.append({"name": "LMCACHE_LOCAL_DISK", "value": "True"})
    memory = {"memory": deployment["resources"]["memory"]}
    container = {
        "name": "vllm",
        "image": f"{deployment['image']['registry']}/{deployment['image']['name']}",
        "command": ["/opt/venv/bin/vllm", "serve"],
        "args": args,
        "env": [*env, *config.get("env", [])],
        "resources": {"requests": memory, "limits": memory},
    }
    return _deployment(one, container, deployment["replicas"], deployment.get("podAnnotations", {}))


def _router(one: Manifest) -> Manifest:
    spec = one["spec"]
    args = ["--port", str(spec["port"]), "--service-discovery", spec["serviceDiscovery"],
            "--k8s-label-selector", spec["k8sLabelSelector"], "--routing-logic", spec["routingLogic"]]  # fmt: skip
    args += ["--session-key", spec["sessionKey"]] if spec.get("sessionKey") else []
    if spec["routingLogic"] == "kvaware" and spec.get("lmcacheControllerPort"):
        args += ["--lmcache-controller-port", str(spec["lmcacheControllerPort"])]
    memory = {"memory": spec["resources"]["memory"]}
    container = {
        "name": "router",
        "image": f"{spec['image']['registry']}/{spec['image']['name']}",
        "args": [*args, *spec.get("extraArgs", [])],
        "resources": {"requests": memory, "limits": memory},
    }
    return _deployment(one, container, spec["replicas"], {})


def _deployment(one: Manifest, container: Manifest, replicas: int, annotations: Manifest) -> Manifest:
    meta = one["metadata"]
    labels = {"app": meta["name"], **meta.get("labels", {})}
    owner = {"apiVersion": API, "kind": one["kind"], "name": meta["name"], "uid": meta["uid"], "controller": True}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"], "ownerReferences": [owner]},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": {"containers": [container]},
            },
        },
    }
