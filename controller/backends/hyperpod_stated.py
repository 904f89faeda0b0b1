"""What a HyperPod custom resource states: strategy, and the three sizes, each of which is elsewhere.

Sources: aws/sagemaker-hyperpod-cli, CRD v1 (kvCacheSpec, intelligentRoutingSpec, worker; JumpStartModel has no
arguments); AWS and Curvine on the tiered cache (L2 by a patch of the Deployment); sagemaker-hyperpod-cli#431
(variables that the operator strips).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.objects import Raw
from controller.reading.configured import Sizes, agreed, sizes_of
from controller.reading.fields import field, flag, mapping, mistyped, text, words
from controller.reading.lineage import Found
from controller.reading.lmcache import Settings
from controller.reading.processes import Process, read_process
from controller.reading.scene import Scene
from controller.reading.sizes import l0_of, l1_of
from controller.reading.storage import Storage
from controller.resources import DEPLOYMENTS, JUMPSTART_MODELS
from tierdeck.deployed import Component, Configuration, Stated, StatedSize

_TYPES: Mapping[str, type] = {
    "spec.worker": dict, "spec.worker.args": list, "spec.worker.command": list,
    "spec.worker.environmentVariables": list, "spec.environmentVariables": list,
    "spec.kvCacheSpec": dict, "spec.kvCacheSpec.enableL1Cache": bool, "spec.kvCacheSpec.enableL2Cache": bool,
    "spec.kvCacheSpec.cacheConfigFile": str, "spec.intelligentRoutingSpec": dict,
    "spec.intelligentRoutingSpec.enabled": bool, "spec.intelligentRoutingSpec.routingStrategy": str,
    "spec.replicas": int, "spec.worker.modelInvocationPort.containerPort": int,
}  # fmt: skip
_CACHE = "spec.kvCacheSpec"


@dataclass(frozen=True, slots=True)
class Statement:
    """What is configured.

    Attributes:
        is_routed: a router is asked for.
        worker: the container that is stated, one for each of prefill and decode where they are apart.
        is_patched: L2 is what a Deployment's template mounts, not what the object states.
    """

    configured: Configuration
    is_routed: bool
    workers: tuple[Process, ...]
    is_patched: bool = False


def read_statement(scene: Scene, source: Found, engines: Sequence[Found], given: Mapping[str, Component]) -> Statement:
    """What the object configures.

    Args:
        engines: its Deployments: a Curvine claim that one mounts for L2 is the L2 that is configured.
        given: components of containers by name.
    """
    ref, raw = source
    workers = _workers(scene, source)
    strategy = _strategy(raw, f"{ref}, spec.intelligentRoutingSpec")
    is_model = ref.kind == JUMPSTART_MODELS.kind
    stated = [_sizes(worker, scene, source, is_model=is_model) for worker in workers]
    sizes = agreed(stated, "workers")
    patch = _patch(scene, engines, given)
    l2 = patch or sizes.l2
    is_routed = flag(raw, "spec", "intelligentRoutingSpec", "enabled")
    return Statement(Configuration(strategy, sizes.l0, sizes.l1, l2), is_routed, workers, patch is not None)


def _workers(scene: Scene, source: Found) -> tuple[Process, ...]:
    ref, raw = source
    configs, worker = scene.configs(ref.namespace), mapping(raw, "spec", "worker")
    if ref.kind == JUMPSTART_MODELS.kind:
        return (read_process(mapping(raw, "spec"), [], configs, f"{ref}, spec", "environmentVariables"),)
    apart = mapping(raw, "spec", "pdSpec")
    specs = [mapping(apart, part) for part in ("prefillSpec", "decodingSpec")] if apart else [{}]
    found = []
    for spec, part in zip(specs, ("prefillSpec", "decodingSpec"), strict=False):
        own = isinstance(field(spec, "args"), list)
        # appended to the shared ones, so that they win over them
        container = {**worker, "args": [*words(worker, "args"), *spec["args"]]} if own else worker
        where = f"{ref}, spec.pdSpec.{part}" if own else f"{ref}, spec.worker"
        found.append(read_process(container, [], configs, where, "environmentVariables"))
    return tuple(found)


def _strategy(raw: Raw, where: str) -> Stated:
    spec = mapping(raw, "spec", "intelligentRoutingSpec")
    if not flag(spec, "enabled"):
        return Stated.unknown("intelligentRoutingSpec is not enabled, so it has no router", where)
    written = text(spec, "routingStrategy")
    # the CRD's default, which the API server fills in
    return Stated(written or "prefixaware", f"{where}.routingStrategy")


def _sizes(worker: Process, scene: Scene, source: Found, *, is_model: bool) -> Sizes:
    ref, raw = source
    cache, where = mapping(raw, "spec", "kvCacheSpec"), f"{ref}, {_CACHE}"
    if cache:
        return Sizes(_l0(worker, is_model=is_model), _l1(worker, cache, where), _l2(cache, where))
    if is_model:
        nothing = StatedSize(0, "no kvCacheSpec", where)
        return Sizes(_l0(worker, is_model=True), nothing, nothing)
    return sizes_of(worker, scene.storage(ref.namespace), None)


def _l0(worker: Process, *, is_model: bool) -> StatedSize:
    if is_model:
        return StatedSize.unknown("JumpStartModel has no arguments, so L0 can't be set there", where=worker.where)
    return l0_of(worker)


def _l1(worker: Process, cache: Raw, where: str) -> StatedSize:
    if field(cache, "enableL1Cache") is False:
        return StatedSize(0, "enableL1Cache false", f"{where}.enableL1Cache")
    file = text(cache, "cacheConfigFile")
    if file:
        return StatedSize.unknown(f"cacheConfigFile {file} overrides what is stated here", where=where)
    if Settings(worker).get("max_local_cpu_size") is None:
        return StatedSize.unknown("no size is set, and the operator's own default is not published", where=where)
    return l1_of(worker, needs_connector=False)


def _l2(cache: Raw, where: str) -> StatedSize:
    if not flag(cache, "enableL2Cache"):
        return StatedSize(0, "enableL2Cache false", f"{where}.enableL2Cache")
    file = text(cache, "cacheConfigFile")
    if file:
        return StatedSize.unknown(f"cacheConfigFile {file} overrides what is stated here", where=where)
    backend, address = text(cache, "l2CacheSpec", "l2CacheBackend"), text(cache, "l2CacheSpec", "l2CacheLocalUrl")
    written = address if "redis" in backend.lower() and address else backend.lower()
    return StatedSize.unknown("the custom resource has no size for L2", written, f"{where}.l2CacheSpec")


def _patch(scene: Scene, engines: Sequence[Found], given: Mapping[str, Component]) -> StatedSize | None:
    """L2 on a Curvine claim that a Deployment's template mounts; the object has no field for it."""
    for one in engines:
        engine = scene.template(one, given).of(Component.ENGINE)
        if engine is None:
            continue
        found = Storage(scene.objects, one[0].namespace, scene.pools).l2_of(engine)
        if found.text.startswith("Curvine"):
            return found
    return None


def stated_problems(
    scene: Scene, source: Found, statement: Statement, engines: Sequence[Found], routers: Sequence[Found]
) -> Iterator[str]:
    """What is wrong with the object, or with what the operator made of it."""
    ref, raw = source
    yield from mistyped(ref, raw, _TYPES)
    if not engines and scene.objects.sees(DEPLOYMENTS):
        yield f"{ref}: no Deployment of it is there."
    if statement.is_routed and not routers and scene.objects.sees(DEPLOYMENTS):
        yield f"{ref}: its router Deployment is not in hyperpod-inference-system."
    if statement.is_patched:
        yield f"{engines[0][0]} mounts Curvine for L2, which {ref} can't state: the operator's next rendering drops it."
    is_completions = text(raw, "spec", "invocationEndpoint").endswith("completions")
    if statement.configured.strategy.value == "kvaware" and not is_completions:
        yield f"{ref}: kvaware needs spec.invocationEndpoint /completions."
    yield from _stripped(scene, source, statement, engines)


def _stripped(scene: Scene, source: Found, statement: Statement, engines: Sequence[Found]) -> Iterator[str]:
    """Variables that the object sets and the rendered Deployment lacks."""
    ref = source[0]
    wanted = {name for worker in statement.workers for name in worker.environment.variables}
    for one in engines:
        engine = scene.template(one, {ref.name: Component.ENGINE}).of(Component.ENGINE)
        lost = sorted(wanted - set(engine.environment.variables)) if engine is not None else []
        if lost:
            yield f"{one[0]}: the operator left out {', '.join(lost)}, which {ref} sets."
