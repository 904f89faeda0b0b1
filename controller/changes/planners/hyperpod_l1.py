"""L1 of an endpoint of HyperPod's: LMCache's size per rank as a variable, and the pod's memory with it.

Sources: sagemaker-hyperpod-cli, CRD v1 (kvCacheSpec has no size; `cacheConfigFile` overrides what is stated beside it)
and #431; LMCache, max_local_cpu_size: a plain number of GiB per rank (LMCache#2901), allocated whenever it has a local
or a remote tier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controller.changes.edits.difference import edits_between
from controller.changes.edits.errors import NotEditableError
from controller.changes.edits.memory import states_memory, with_memory
from controller.changes.edits.quantities import gib_per_rank
from controller.changes.edits.variables import with_variable
from controller.changes.planners.hyperpod_l0 import ROLES
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.reading.fields import field, flag, mapping, text
from controller.reading.lmcache import FILE, Settings, connector_settings, uses_server
from controller.reading.processes import Process
from controller.reading.sizes import GIB, gib_of, ranks_of
from controller.reading.told import UntoldError, argument
from tierdeck.changes.plan import ABSENT, Carried, Carrying, FieldEdit
from tierdeck.units import format_size

SIZE, SWITCH = "LMCACHE_MAX_LOCAL_CPU_SIZE", "LMCACHE_LOCAL_CPU"
_CACHE = ("spec", "kvCacheSpec")
_ENABLED = (*_CACHE, "enableL1Cache")
_RANKS = ("--tensor-parallel-size", "--pipeline-parallel-size")


@dataclass(frozen=True, slots=True)
class L1Now:
    """What is there.

    Attributes:
        ranks: of one engine.
        is_on: L1 is asked for.
        held_bytes: what LMCache takes of the pod's memory; None: not known.
    """

    ranks: int
    is_on: bool
    held_bytes: int | None


def read_l1(found: HyperPodResource, workers: Sequence[Process]) -> L1Now:
    """
    Args:
        workers: the container that is stated, one for each of prefill and decode where they are apart.

    Raises:
        NotEditableError: something else than the variable sets L1, or it can't be told.
    """
    _refuse_others(found, workers)
    ranks = {_ranks(worker) for worker in workers}
    if len(ranks) != 1:
        raise NotEditableError(
            "prefill and decode have another number of ranks each, and one variable sets L1 per rank of both",
            "Give both the same --tensor-parallel-size.",
        )
    count = ranks.pop()
    is_on = field(found.raw, *_ENABLED) is not False
    stated = _stated(workers[0], count)
    effective = found.look.deployed.effective.l1.size_bytes
    known = stated if stated is not None else effective or None
    holds = is_on or flag(found.raw, *_CACHE, "enableL2Cache")
    return L1Now(count, is_on, known if holds else 0)


def l1_edits(found: HyperPodResource, now: L1Now, wanted_bytes: int, env: tuple[str, ...]) -> tuple[FieldEdit, ...]:
    """The variable, the switch, and memory.

    Args:
        wanted_bytes: of all ranks; 0: off.
        env: where the container is in the object, and what it calls its variables (`spec worker environmentVariables`).

    Raises:
        NotEditableError: it can't be done.
    """
    *path, key = env
    container = mapping(found.raw, *path)
    edits: tuple[FieldEdit, ...] = ()
    if wanted_bytes == 0:
        if not mapping(found.raw, *_CACHE):
            raise NotEditableError("there is no kvCacheSpec, so L1 can't be switched off in it")
        local = next((one for one in found.variables() if text(one, "name") == SWITCH), None)
        made = with_variable(container, SWITCH, None, key) if local is not None else container
        more = 0 if flag(found.raw, *_CACHE, "enableL2Cache") else -(now.held_bytes or 0)
        is_wanted = False
    else:
        made = with_variable(container, SIZE, gib_per_rank(wanted_bytes, now.ranks), key)
        made = _switched_on(found, made, key)
        more, is_wanted = wanted_bytes - (now.held_bytes or 0), True
    if now.is_on is not is_wanted:
        stated = field(found.raw, *_ENABLED)
        edits += (FieldEdit(_ENABLED, ABSENT if stated is None else stated, is_wanted),)
    edits += edits_between(container, made, tuple(path), key)
    return edits + _memory(found, tuple(path), more)


def l1_carried(found: HyperPodResource, now: L1Now, wanted_bytes: int) -> Iterator[Carried]:
    """Every engine pod has the variable once, whatever this version of the operator makes of it (#431)."""
    for ref, _ in found.engines if wanted_bytes else ():
        value = gib_per_rank(wanted_bytes, now.ranks)
        yield Carried(ref, found.ref.name, Carrying.ENVIRONMENT, SIZE, value)


def l1_warnings(found: HyperPodResource, now: L1Now, wanted_bytes: int) -> Iterator[str]:
    """What comes of it, and what is not known."""
    if wanted_bytes == 0:
        if flag(found.raw, *_CACHE, "enableL2Cache"):
            yield "LMCache keeps its buffer for L2, so the pods' memory stays as it is."
        yield "What the operator renders for enableL1Cache false is not published, so pods are not asked for it."
        return
    if now.held_bytes is None:
        size = format_size(wanted_bytes)
        yield f"How much L1 takes now is not known, so the pods' memory grows by all of its {size}."
    is_twice = any(SIZE in one.environment.duplicates for one in (*found.running(), *found.templates()))
    seen = "The operator doubles" if is_twice else "Some versions of the operator drop or double"
    yield f"{seen} {SIZE} (sagemaker-hyperpod-cli#431), so every pod is asked for it, once."
    parts = [mapping(found.raw, "spec", "worker"), *(mapping(found.raw, "spec", "pdSpec", role) for role in ROLES)]
    if not any(states_memory(one) for one in parts):
        yield f"{found.ref} states no memory, so nothing reserves what L1 takes on the node."


def dropped(found: HyperPodResource) -> list[str]:
    """LMCache's variables that the object states and that the operator has left out of what it rendered."""
    stated = {text(one, "name") for one in found.variables() if text(one, "name").startswith("LMCACHE_")}
    engines = found.templates()
    return sorted({name for one in engines for name in stated - set(one.environment.variables)})


def _refuse_others(found: HyperPodResource, workers: Sequence[Process]) -> None:
    """What would win over the variable, or hold L1 elsewhere."""
    file = text(found.raw, *_CACHE, "cacheConfigFile")
    if file:
        raise NotEditableError(
            f"spec.kvCacheSpec.cacheConfigFile {file} overrides what is stated beside it",
            "Set max_local_cpu_size in that file, or take cacheConfigFile out.",
        )
    if text(found.raw, *_CACHE, "lmcache", "mode").lower() == "multiprocess":
        raise NotEditableError("kvCacheSpec.lmcache.mode is MultiProcess, so L1 is its server's and no variable's")
    for one in (*workers, *found.running()):
        if one.environment.get(FILE) is not None:
            raise NotEditableError(f"{FILE} is set, and LMCache then ignores its variables", "Set it in that file.")
        if "lmcache.max_local_cpu_size" in connector_settings(one):
            raise NotEditableError("--kv-transfer-config sets lmcache.max_local_cpu_size, which wins over the variable")
        if one.command.has("--kv-offloading-size"):
            raise NotEditableError("--kv-offloading-size gives L1 to vLLM itself, beside LMCache")
        if uses_server(one):
            raise NotEditableError("an LMCache server holds L1, whose size is its own --l1-size-gb")
    if not mapping(found.raw, *_CACHE) and not any(Settings(one).is_there for one in (*workers, *found.running())):
        raise NotEditableError(
            f"{found.ref} has no kvCacheSpec, so its engines have no LMCache",
            "Make the endpoint anew with kvCacheSpec.enableL1Cache true.",
        )


def _ranks(worker: Process) -> int:
    """Also as AWS's images take them, by `SM_VLLM_TENSOR_PARALLEL_SIZE`."""
    count = ranks_of(worker)
    try:
        told = [argument(worker, name) for name in _RANKS]
    except UntoldError as error:
        raise NotEditableError(f"how many ranks an engine has is not known ({error})") from error
    if isinstance(count, str) or any(one and not one.isdecimal() for one in told):
        raise NotEditableError(f"how many ranks an engine has is not known ({count})")
    product = 1
    for one in told:
        product *= int(one or "1")
    return product


def _stated(worker: Process, ranks: int) -> int | None:
    """None: no size that LMCache could take is stated (`4Gi` is none)."""
    size = Settings(worker).get("max_local_cpu_size")
    number = gib_of(size.value) if size is not None else None
    return None if number is None else int(number * GIB) * ranks


def _switched_on(found: HyperPodResource, container: dict[str, object] | object, key: str) -> dict[str, object]:
    """A switch that the object itself turns off would keep L1 off."""
    made = dict(container) if isinstance(container, dict) else {}
    local = next((one for one in found.variables() if text(one, "name") == SWITCH), None)
    if local is None or text(local, "value").lower() in ("true", "1", "yes", "on"):
        return made
    return dict(with_variable(made, SWITCH, None, key))


def _memory(found: HyperPodResource, path: tuple[str, ...], more: int) -> tuple[FieldEdit, ...]:
    """Of the worker, and of prefill and decode where they state their own."""
    edits: tuple[FieldEdit, ...] = ()
    places = [path, *(("spec", "pdSpec", role) for role in ROLES)]
    for place in places:
        part = mapping(found.raw, *place)
        edits += edits_between(part, with_memory(part, more), place) if part else ()
    return edits
