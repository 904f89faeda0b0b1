"""L1 of an engine: LMCache's size per rank with the memory that it takes, vLLM's own offloading, or a server's size.

Sources: LMCache 0.5.6: `max_local_cpu_size`, a plain number of GiB per rank (LMCache#2901), allocated at start, and
with `local_cpu` off too, as staging memory; `lmcache server --l1-size-gb`. vLLM: `--kv-offloading-size`, GiB of all
ranks.
"""

from __future__ import annotations

from controller.changes.edits.memory import states_memory, with_memory
from controller.changes.edits.quantities import gib_per_rank
from controller.changes.refused import RefusedError
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.place import Place
from controller.reading.lmcache import (
    DEFAULT_CPU_GIB,
    EMBEDDED,
    FILE,
    Settings,
    connector_settings,
    connectors,
    is_off,
    uses_server,
)
from controller.reading.processes import Process
from controller.reading.sizes import gib_of, in_gib, l1_of, ranks_of
from tierdeck.deployed import StatedSize
from tierdeck.units import format_size

SIZE, SWITCH, NATIVE = "LMCACHE_MAX_LOCAL_CPU_SIZE", "LMCACHE_LOCAL_CPU", "--kv-offloading-size"
_SERVER_FLAGS = ("--l1-size-gb", "--cpu-buffer-size")
_NEAR = 1 << 20
"""Bytes by which a size may miss what was asked where it is no whole number per rank."""


def set_l1(draft: Draft, place: Place, size_bytes: int) -> None:
    """Of an engine's own process; 0: off.

    Raises:
        RefusedError, NotEditableError: it can't be.
    """
    process = draft.process(place)
    if process.command.get(NATIVE) is not None:
        _set_native(draft, place, size_bytes)
        return
    refuse_l1(process)
    ranks = ranks_of(process)
    if isinstance(ranks, str):
        raise RefusedError("not_possible", f"{process.where}: how many ranks share L1 is not known: {ranks}")
    if l1_of(process).size_bytes == size_bytes:
        return
    if size_bytes:
        _size(draft, place, size_bytes, ranks)
    else:
        draft.set(place, SWITCH, "False")
        draft.warn(f"{process.where}: LMCache still takes {SIZE} as staging memory, so the pod's memory stays.")
    _prove(draft, place, size_bytes)


def _size(draft: Draft, place: Place, size_bytes: int, ranks: int) -> None:
    process = draft.process(place)
    draft.set(place, SIZE, gib_per_rank(size_bytes, ranks))
    if is_off(Settings(process).get("local_cpu")):
        draft.set(place, SWITCH, "True")
    reserved = reserved_bytes(process, ranks)
    if reserved is None:
        draft.warn(
            f"{process.where}: how much L1 takes now is not known, so memory grows by all of {format_size(size_bytes)}."
        )
    container = draft.container(place)
    if not states_memory(container):
        draft.warn(f"{process.where} states no memory, so only the node's bounds it.")
    draft.put(place, with_memory(container, size_bytes - (reserved or 0)))


def reserved_bytes(process: Process, ranks: int) -> int | None:
    """What LMCache takes of the pod's memory now; None: not known."""
    stated = Settings(process).get("max_local_cpu_size")
    number = gib_of(DEFAULT_CPU_GIB if stated is None else stated.value)
    return None if number is None else in_gib(number, ranks).size_bytes


def refuse_l1(process: Process) -> None:
    """
    Raises:
        RefusedError: its L1 is not LMCache's inside the engine, or something else sets it.
    """
    used, where = connectors(process), process.where
    if process.command.problem:
        raise RefusedError("not_possible", f"{where}: {process.command.problem}")
    if uses_server(process):
        raise RefusedError(
            "not_possible",
            f"{where}: an LMCache server holds L1, which is not found in the pod, nor as the one DaemonSet of its kind",
        )
    if not used:
        raise RefusedError(
            "not_possible",
            f"{where}: no argument names a KV connector, so there is no L1 to size",
            'Start the engine with --kv-transfer-config \'{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}\'.',
        )
    if not any(name.startswith(EMBEDDED) for name in used):
        raise RefusedError("not_possible", f"{where}: how {used[0]} is told its CPU memory is not known here")
    if process.environment.get(FILE) is not None:
        raise RefusedError(
            "not_possible",
            f"{where}: {FILE} is set, and with a file LMCache ignores its variables",
            "Change max_local_cpu_size in that file.",
        )
    inner = [key for key in ("lmcache.max_local_cpu_size", "lmcache.local_cpu") if key in connector_settings(process)]
    if inner:
        raise RefusedError(
            "not_possible",
            f"{where}: --kv-transfer-config sets {inner[0]}, which wins over the variable",
            "Take it out there first.",
        )


def _prove(draft: Draft, place: Place, size_bytes: int) -> None:
    """What it would be told is read back."""
    read = l1_of(draft.process(place))
    if read.size_bytes is None or abs(read.size_bytes - size_bytes) > _NEAR:
        raise RefusedError("not_possible", f"{place.process.where}: {_still(read)}", "Change it where that is set.")


def _still(read: StatedSize) -> str:
    return read.reason or f"L1 would still be {read.text or 'another'} ({read.where})"


def _set_native(draft: Draft, place: Place, size_bytes: int) -> None:
    """vLLM's own offloading."""
    process = draft.process(place)
    before = l1_of(process).size_bytes
    if before == size_bytes:
        return
    draft.argue(place, NATIVE, gib_per_rank(size_bytes, 1) if size_bytes else None)
    if before is None:
        draft.warn(f"{process.where}: how much L1 takes now is not known, so memory grows by all of it.")
    draft.put(place, with_memory(draft.container(place), size_bytes - (before or 0)))


def set_server_l1(draft: Draft, place: Place, size_bytes: int) -> None:
    """Of LMCache's multi-process server: one number of GiB for the whole server.

    Raises:
        RefusedError, NotEditableError: it can't be.
    """
    process = draft.process(place)
    if not size_bytes:
        raise RefusedError("not_possible", f"{process.where}: a server without L1 has nothing to load into engines by")
    stated = process.command.get(*_SERVER_FLAGS)
    name = next((one for one in _SERVER_FLAGS if process.command.has(one)), _SERVER_FLAGS[0])
    number = None if stated is None else gib_of(stated.value)
    before = None if number is None else in_gib(number).size_bytes
    if before == size_bytes:
        return
    value = gib_per_rank(size_bytes, 1)
    draft.argue(place, name, value)
    if before is None:
        draft.warn(f"{process.where} states no L1 now, so its memory grows by all of {format_size(size_bytes)}.")
    draft.put(place, with_memory(draft.container(place), size_bytes - (before or 0)))
    if draft.process(place).command.value(*_SERVER_FLAGS) != value:
        raise RefusedError("not_possible", f"{process.where} would not be told {name} {value} by its arguments")
