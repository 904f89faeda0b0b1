"""Which process of a pod keeps L1, and how much of the pod's memory that takes.

Source: LMCache, storage_backend: the buffer of `max_local_cpu_size` is there also where `local_cpu` is off, for what is
under way to L2.
"""

from __future__ import annotations

from controller.reading.lmcache import DEFAULT_CPU_GIB, EMBEDDED, Settings, connectors, uses_server
from controller.reading.processes import Process, is_server
from controller.reading.sizes import gib_of, in_gib, l1_of, ranks_of, server_l1
from tierdeck.deployed import Component, StatedSize

_HYPERPOD = "hyperpod"


def holder_of(server: Process | None, engine: Process | None) -> Process | None:
    """LMCache's server of the pod, else the engine, unless a server elsewhere keeps it."""
    if server is not None and is_server(server.command):
        return server
    return engine if engine is not None and not uses_server(engine) else None


def held_by(holder: Process | None, backend: str) -> StatedSize:
    """All ranks together; unknown where that is not told.

    Args:
        backend: HyperPod's engines use LMCache without an argument that says so.
    """
    if holder is None:
        return StatedSize.unknown("it keeps no L1")
    if holder.component is Component.LMCACHE:
        return server_l1(holder)
    is_hyperpod = backend.startswith(_HYPERPOD)
    size = l1_of(holder, needs_connector=not is_hyperpod)
    if size.size_bytes == 0 and _has_buffer(holder, is_hyperpod=is_hyperpod):
        return _buffer(holder)
    return size


def _has_buffer(engine: Process, *, is_hyperpod: bool) -> bool:
    if engine.command.has("--kv-offloading-size"):
        return False
    return any(one.startswith(EMBEDDED) for one in connectors(engine)) or (is_hyperpod and Settings(engine).is_there)


def _buffer(engine: Process) -> StatedSize:
    stated = Settings(engine).get("max_local_cpu_size")
    number = gib_of(DEFAULT_CPU_GIB if stated is None else stated.value)
    ranks = ranks_of(engine)
    if number is None or isinstance(ranks, str):
        return StatedSize.unknown("how large LMCache's buffer is can't be told from what is stated")
    return in_gib(number, ranks, engine.where)
