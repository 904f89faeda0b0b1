"""production-stack's operator: VLLMRuntime with the VLLMRouter that selects it and the CacheServer that it names.

Source: vllm-project/production-stack, operator/internal/controller/vllmruntime_controller.go and
vllmrouter_controller.go: Deployments are named like their objects; labels are `app: <name>` and the object's own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from controller.backend import Found as Result
from controller.objects import Objects, Raw
from controller.reading.configured import sizes_of
from controller.reading.endpoints import assemble
from controller.reading.fields import field, flag, items, labels, mapping, mistyped, named, text, whole, words
from controller.reading.lineage import Found, parse_selector, selects
from controller.reading.owners import Path
from controller.reading.parts import Parts
from controller.reading.processes import Process, read_process
from controller.reading.scene import Scene
from controller.reading.sizes import gib_of
from controller.resources import CACHE_SERVERS, DEPLOYMENTS, VLLM_ROUTERS, VLLM_RUNTIMES
from tierdeck.deployed import Component, ObjectRef, Stated

_FIELDS: tuple[Path, ...] = (
    ("spec", "vllmConfig", "gpuMemoryUtilization"),
    ("spec", "vllmConfig", "extraArgs"),
    ("spec", "vllmConfig", "env"),
    ("spec", "lmCacheConfig"),
)
_TYPES: Mapping[str, type] = {
    "spec.vllmConfig": dict, "spec.vllmConfig.extraArgs": list, "spec.vllmConfig.env": list,
    "spec.vllmConfig.gpuMemoryUtilization": str, "spec.lmCacheConfig": dict,
    "spec.lmCacheConfig.cpuOffloadingBufferSize": str, "spec.lmCacheConfig.enabled": bool,
    "spec.deploymentConfig.replicas": int,
}  # fmt: skip
_GIVEN = {"vllm": Component.ENGINE, "router": Component.ROUTER}
_SILENT = "VLLMRuntime's operator does not notice changes of gpuMemoryUtilization, extraArgs and env"


class ProductionStack:
    """One endpoint per VLLMRuntime."""

    name = "production-stack"

    def find(self, objects: Objects, taken: Collection[ObjectRef]) -> Sequence[Result]:
        scene = Scene(objects)
        routers = list(named(objects, VLLM_ROUTERS))
        return [self._endpoint(scene, one, routers) for one in named(objects, VLLM_RUNTIMES)]

    def _endpoint(self, scene: Scene, source: Found, routers: Sequence[Found]) -> Result:
        ref, raw = source
        engines = tuple(scene.lineage.get(DEPLOYMENTS, ref.namespace, ref.name))
        own = routers_for(routers, source)
        process = rendered(scene, source)
        sizes = sizes_of(process, scene.storage(ref.namespace), None)
        parts = Parts(
            self.name,
            source,
            sizes.with_strategy(_strategy(own)),
            engines=engines,
            routers=tuple(found for one in own for found in _deployment(scene, one)),
            companions=tuple(found for one in _caches(scene, ref, raw) for found in _deployment(scene, one)),
            fields=_FIELDS,
            model=text(raw, "spec", "model", "modelURL"),
            wanted=whole(raw, "spec", "deploymentConfig", "replicas"),
            given=_GIVEN,
            engine_port=whole(raw, "spec", "vllmConfig", "port"),
            problems=tuple(_problems(scene, source, own, engines)),
        )
        result = assemble(scene, parts)
        return _with_silence(result)


def _deployment(scene: Scene, one: Found) -> list[Found]:
    return scene.lineage.get(DEPLOYMENTS, one[0].namespace, one[0].name)


def rendered(scene: Scene, source: Found) -> Process:
    """The container as the operator makes it of the object, as far as sizes go."""
    ref, raw = source
    config, cache = mapping(raw, "spec", "vllmConfig"), mapping(raw, "spec", "lmCacheConfig")
    args = ["vllm", "serve", text(raw, "spec", "model", "modelURL") or "model"]
    args.append("--enable-prefix-caching" if flag(config, "enablePrefixCaching") else "--no-enable-prefix-caching")
    if whole(config, "tensorParallelSize"):
        args += ["--tensor-parallel-size", str(config["tensorParallelSize"])]
    if text(config, "gpuMemoryUtilization"):
        args += ["--gpu_memory_utilization", config["gpuMemoryUtilization"]]
    args += words(config, "extraArgs")
    env: list[object] = []
    if flag(cache, "enabled"):
        args += ["--kv-transfer-config", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}']
        if text(cache, "cpuOffloadingBufferSize"):
            env.append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": cache["cpuOffloadingBufferSize"]})
        if text(cache, "remoteUrl"):
            env.append({"name": "LMCACHE_REMOTE_URL", "value": cache["remoteUrl"]})
    env += items(config, "env")
    kept, volumes = mapping(raw, "spec", "storageConfig"), list[Raw]()
    container: dict[str, object] = {"name": "vllm", "command": args, "env": env}
    if flag(kept, "enabled"):
        volumes = [{"name": "kept", "persistentVolumeClaim": {"claimName": ref.name}}]
        container["volumeMounts"] = [{"name": "kept", "mountPath": text(kept, "mountPath") or "/data"}]
    return read_process(container, volumes, scene.configs(ref.namespace), f"{ref}, spec")


def _strategy(routers: Sequence[Found]) -> Stated:
    found = {text(raw, "spec", "routingLogic"): ref for ref, raw in routers}
    if not found:
        return Stated.unknown("no VLLMRouter selects it")
    if len(found) > 1:
        return Stated.unknown(f"several VLLMRouters with different strategies select it: {', '.join(sorted(found))}")
    value, ref = next(iter(found.items()))
    where = f"{ref}, spec.routingLogic"
    return Stated(value, where) if value else Stated.unknown("spec.routingLogic is not set", where)


def routers_for(routers: Iterable[Found], runtime: Found) -> list[Found]:
    """The VLLMRouters that select a VLLMRuntime."""
    ref, raw = runtime
    return [one for one in routers if one[0].namespace == ref.namespace and _routes(one[1], ref, raw)]


def _routes(router: Raw, ref: ObjectRef, runtime: Raw) -> bool:
    """Its selector picks the runtime's pods, or a static backend is the runtime's Service."""
    own = {**labels(runtime, "metadata", "labels"), "app": labels(runtime, "metadata", "labels").get("app", ref.name)}
    if selects(parse_selector(text(router, "spec", "k8sLabelSelector")), own):
        return True
    hosts = [_host(one) for one in text(router, "spec", "staticBackends").split(",")]
    return any(host.partition(".")[0] == ref.name for host in hosts)


def _caches(scene: Scene, ref: ObjectRef, raw: Raw) -> list[Found]:
    host = _host(text(raw, "spec", "lmCacheConfig", "remoteUrl")).partition(".")[0]
    return [
        one for one in named(scene.objects, CACHE_SERVERS) if (one[0].namespace, one[0].name) == (ref.namespace, host)
    ]


def _host(address: str) -> str:
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def _problems(scene: Scene, source: Found, routers: Sequence[Found], engines: Sequence[Found]) -> Iterator[str]:
    """The traps of the CRD. Source: vllmruntime_controller.go (566-590, 1040-1045), LMCache's config.py."""
    ref, raw = source
    yield from mistyped(ref, raw, _TYPES)
    if not engines and scene.objects.sees(DEPLOYMENTS):
        yield f"{ref}: its Deployment {ref.namespace}/{ref.name} is not there."
    cache = mapping(raw, "spec", "lmCacheConfig")
    if flag(cache, "enabled"):
        size = text(cache, "cpuOffloadingBufferSize")
        if size and gib_of(size) is None:
            yield f"{ref}: cpuOffloadingBufferSize {size} is not a plain number of GiB, so LMCache takes none from it."
        if text(cache, "diskOffloadingBufferSize"):
            yield f"{ref}: diskOffloadingBufferSize makes LMCache keep its disk tier in a relative path named True."
        if text(cache, "remoteUrl") and not text(cache, "remoteSerde"):
            yield f"{ref}: remoteUrl is set without remoteSerde, which the operator then leaves empty."
    elif field(raw, "spec", "lmCacheConfig") is not None:
        yield f"{ref}: lmCacheConfig is there but not enabled, so the operator updates its Deployment for ever."
    for router, one in routers:
        port = whole(one, "spec", "port")
        if text(one, "spec", "routingLogic") == "kvaware":
            yield f"{router}: kvaware looks at completions only: chat requests fall back."
        if port == 0:
            yield f"{router}: spec.port 0 is no port."


def _with_silence(result: Result) -> Result:
    """Why the running pods don't carry what is configured, where that is seen."""
    deployed = result.deployed
    if "L0" not in deployed.drift():
        return result
    sentence = f"{deployed.source}: {_SILENT}; a change of deploymentConfig.podAnnotations makes it roll out."
    return replace(result, deployed=replace(deployed, problems=(*deployed.problems, sentence)))


PRODUCTION_STACK = ProductionStack()
