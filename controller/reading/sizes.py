"""Sizes of L0 and L1 as a process's arguments and environment state them."""

from __future__ import annotations

from controller.reading.lmcache import DEFAULT_CPU_GIB, EMBEDDED, Settings, connectors, is_off, uses_server
from controller.reading.processes import Process
from tierdeck.deployed import Stated, StatedSize

GIB = 1 << 30
_L0_FLAGS = ("--kv-cache-memory-bytes", "--num-gpu-blocks-override", "--gpu-memory-utilization")
"""The first wins over those after it. Source: vLLM, config/cache.py."""
_RANKS = ("--tensor-parallel-size", "--pipeline-parallel-size")


def ranks_of(process: Process) -> int | str:
    """Workers of one engine; a text is the reason why that is not known."""
    ranks = 1
    for name in _RANKS:
        stated = process.command.get(name)
        if stated is None:
            continue
        if not stated.value.isascii() or not stated.value.isdigit() or not 0 < int(stated.value) <= 1024:
            return stated.reason or f"{name} {stated.value} is no number of ranks"
        ranks *= int(stated.value)
    return ranks


def gib_of(value: str) -> float | None:
    """A plain number of GiB, as LMCache takes it; None where `float()` would refuse it or it is no size."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 20 else None


def in_gib(number: float, ranks: int = 1, where: str = "") -> StatedSize:
    """`40 GiB × 2 ranks`."""
    text = f"{number:g} GiB" + (f" × {ranks} ranks" if ranks > 1 else "")
    return StatedSize(int(number * GIB) * ranks, text, where)


def l0_of(process: Process) -> StatedSize:
    """The GPU's prefix cache.

    Source: vLLM's engine arguments; bytes are known only from `--kv-cache-memory-bytes`, which is per GPU.
    """
    command = process.command
    if command.problem:
        return StatedSize.unknown(command.problem, where=command.where)
    if _prefix_caching_is_off(process):
        return StatedSize(0, "--no-enable-prefix-caching", f"{command.where}, args")
    for name in _L0_FLAGS:
        stated = command.get(name)
        if stated is not None:
            return _l0(name, stated, process)
    if command.has("--config"):
        return StatedSize.unknown(f"it may be in the file of --config {command.value('--config')}".rstrip())
    space = process.environment.get("VLLM_CPU_KVCACHE_SPACE")
    if space is not None and space.value:
        text = f"VLLM_CPU_KVCACHE_SPACE {space.value}"
        return StatedSize.unknown("a CPU engine, whose ranks share this by its version's rules", text, space.where)
    return StatedSize.unknown("no argument sets it, so vLLM's default applies, a share of the GPU's memory")


def _prefix_caching_is_off(process: Process) -> bool:
    last = ""
    for word in process.command.words:
        name = word.replace("_", "-")
        if name.startswith(("--enable-prefix-caching", "--no-enable-prefix-caching")):
            last = name
    return last.startswith("--no-") or last.lower().endswith("=false")


def _l0(name: str, stated: Stated, process: Process) -> StatedSize:
    text = f"{name} {stated.value}" if stated.value else ""
    if stated.reason:
        return StatedSize.unknown(stated.reason, where=stated.where)
    if name != _L0_FLAGS[0]:
        what = "a share of the GPU's memory" if name == _L0_FLAGS[2] else "a number of blocks"
        return StatedSize.unknown(f"{what}: the engine's metrics tell what it makes of it", text, stated.where)
    ranks, number = ranks_of(process), integer_of(stated.value)
    if isinstance(ranks, str) or number is None:
        reason = ranks if isinstance(ranks, str) else f"{stated.value} is no number of bytes"
        return StatedSize.unknown(reason, text, stated.where)
    return StatedSize(number * ranks, text + (f" × {ranks} ranks" if ranks > 1 else ""), stated.where)


def integer_of(value: str) -> int | None:
    """Bytes as vLLM takes them: `25769803776`, `24g` (powers of ten), `24G` (powers of two).

    Source: vLLM, engine/arg_utils.py, human_readable_int.
    """
    powers = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    unit = powers.get(value[-1:], 1)
    digits = value[:-1] if value[-1:] in powers else value
    try:
        number = float(digits) * unit
    except ValueError:
        return None
    return int(number) if 0 <= number < 1 << 60 else None


def l1_of(process: Process, *, needs_connector: bool = True) -> StatedSize:
    """CPU memory of LMCache inside the engine, or of vLLM's own offloading; an LMCache server's is `server_l1`.

    Source: LMCache, max_local_cpu_size: GiB per rank (LMCache#2901); vLLM, --kv-offloading-size: GiB of all ranks.

    Args:
        needs_connector: without an argument that names a KV connector the settings of LMCache say nothing.
    """
    native = process.command.get("--kv-offloading-size")
    if native is not None:
        number = gib_of(native.value)
        if number is None:
            return StatedSize.unknown(
                native.reason or f"{native.value} is no number of GiB", native.value, native.where
            )
        return in_gib(number, where=native.where)
    used, settings = connectors(process), Settings(process)
    if process.command.problem:
        return StatedSize.unknown(process.command.problem)
    if not any(name.startswith(EMBEDDED) for name in used) and (needs_connector or not settings.is_there):
        return _without_lmcache(process, used, settings)
    return _embedded_l1(process, settings)


def _without_lmcache(process: Process, used: list[str], settings: Settings) -> StatedSize:
    if uses_server(process):
        return StatedSize.unknown("an LMCache server holds it, which is not found in the pod or on its node")
    if process.command.get("--kv-transfer-config") is not None and not used:
        return StatedSize.unknown("--kv-transfer-config is no JSON that names a connector")
    if used:
        return StatedSize.unknown(f"how much {used[0]} keeps in CPU memory is not read", used[0])
    if process.command.has("--config") or settings.is_there:
        return StatedSize.unknown("LMCACHE_* is set, but no argument names a KV connector" if settings.is_there
                                  else "a connector may be in the file of --config")  # fmt: skip
    return StatedSize(0, "no KV connector", process.where)


def _embedded_l1(process: Process, settings: Settings) -> StatedSize:
    local = settings.get("local_cpu")
    if local is not None and is_off(local):
        return StatedSize(0, f"local_cpu {local.value}", local.where)
    size = settings.get("max_local_cpu_size")
    if size is None and process.environment.hidden:
        return StatedSize.unknown(process.environment.hidden[0])
    if size is None:
        size = Stated(DEFAULT_CPU_GIB, f"{process.where}: LMCache's default")
    if size.reason:
        return StatedSize.unknown(size.reason, where=size.where)
    number, ranks = gib_of(size.value), ranks_of(process)
    if number is None:
        reason = f"max_local_cpu_size {size.value} is not a plain number: LMCache takes none from it"
        return StatedSize.unknown(reason, size.value, size.where)
    if isinstance(ranks, str):
        return StatedSize.unknown(ranks, f"{number:g} GiB per rank", size.where)
    return in_gib(number, ranks, size.where)


def server_l1(server: Process, *, is_shared: bool = False) -> StatedSize:
    """L1 of LMCache's multi-process server.

    Source: LMCache 0.5.6, `lmcache server --l1-size-gb`; before, `--cpu-buffer-size`. GiB of the whole server.
    """
    stated = server.command.get("--l1-size-gb", "--cpu-buffer-size")
    if stated is None:
        return StatedSize.unknown("the LMCache server is not told a size", where=server.where)
    number = gib_of(stated.value)
    if number is None:
        return StatedSize.unknown(stated.reason or f"{stated.value} is no number of GiB", stated.value, stated.where)
    if is_shared:
        reason = "one LMCache server per node holds it, and the engines of the node share it"
        return StatedSize.unknown(reason, f"{number:g} GiB per node", stated.where)
    return in_gib(number, where=stated.where)
