"""A plan as values for production-stack's chart, as far as the chart has values for it.

Source: production-stack, helm/templates/deployment-router.yaml (`routerSpec.routingLogic`) and
deployment-vllm-multi.yaml (`vllmConfig.gpuMemoryUtilization`, `vllmConfig.extraArgs`,
`lmcacheConfig.cpuOffloadingBufferSize`, which counts only where `int()` of it is above 0; `requestMemory`,
`limitMemory`). `servingEngineSpec.modelSpec` is a list, which Helm replaces whole: its values are a fragment that
a person puts into the right entry.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from tierdeck.changes.export import Exported
from tierdeck.changes.plan import ABSENT, Carried, FieldEdit, Json, Plan, Surface, Write
from tierdeck.deployed import ObjectRef
from tierdeck.errors import TierdeckError

_L1 = "LMCACHE_MAX_LOCAL_CPU_SIZE"
_SHARE = "--gpu-memory-utilization"
_EXTRA = ("--kv-cache-memory-bytes", "--num-gpu-blocks-override")
_MEMORY = {"requests": "requestMemory", "limits": "limitMemory"}


def as_helm_values(plan: Plan) -> Exported:
    """`values.yaml` for the router, and a fragment per engine.

    Raises:
        TierdeckError: the chart has no value for anything of it.
    """
    by_hand: list[str] = []
    files: list[tuple[str, str]] = []
    if plan.strategy:
        files.append(("values.yaml", _yaml({"routerSpec": {"routingLogic": plan.strategy}})))
    for write in plan.writes:
        if write.surface is not Surface.KUBERNETES or write.ref.kind != "Deployment":
            by_hand.append(f"{write.ref}: the chart has no value for it.")
            continue
        entry = _entry(plan, write, by_hand)
        if entry:
            where = f"# Into the entry of servingEngineSpec.modelSpec that makes {write.ref}.\n"
            files.append((f"model-spec-{write.ref.name}.yaml", where + _yaml(entry)))
    if not files:
        raise TierdeckError("production-stack's chart has no values for this change", "Export it with --kustomize.")
    return Exported(tuple(files), tuple(by_hand))


def _entry(plan: Plan, write: Write, by_hand: list[str]) -> dict[str, Json]:
    engine: dict[str, Json] = {}
    cache: dict[str, Json] = {}
    extra: list[Json] = []
    for one in _carried(plan, write.ref):
        if one.name == _SHARE and one.value is not None:
            engine["gpuMemoryUtilization"] = float(one.value)
        elif one.name in _EXTRA and one.value is not None:
            extra.append(f"{one.name}={one.value}")
        elif one.name == _L1 and (one.value or "").isdigit() and one.value != "0":
            cache["cpuOffloadingBufferSize"] = one.value
        elif one.name == _L1:
            told = f"be {one.value} (the chart takes whole numbers above 0 only)" if one.value else "go"
            by_hand.append(f"{write.ref}: {_L1} has to {told}.")
        elif one.value is None and one.name in (_SHARE, *_EXTRA):
            by_hand.append(f"{write.ref}: {one.name} has to go from vllmConfig, where it is there.")
    if extra:
        engine["extraArgs"] = extra
        by_hand.append(f"{write.ref}: vllmConfig.extraArgs is a list: add to those that are there.")
    found: dict[str, Json] = {}
    found |= {"vllmConfig": engine} if engine else {}
    found |= {"lmcacheConfig": cache} if cache else {}
    return found | dict(_memory(write))


def _carried(plan: Plan, ref: ObjectRef) -> Iterator[Carried]:
    return (one for one in plan.carries if one.workload == ref)


def _memory(write: Write) -> Iterator[tuple[str, Json]]:
    for edit in write.edits:
        key = _memory_key(edit)
        if key and edit.after is not ABSENT:
            yield key, edit.after


def _memory_key(edit: FieldEdit) -> str:
    *_, resources, side, name = ("", "", *edit.path)
    return _MEMORY.get(side, "") if (resources, name) == ("resources", "memory") else ""


def _yaml(document: dict[str, Json]) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=100, allow_unicode=True)
