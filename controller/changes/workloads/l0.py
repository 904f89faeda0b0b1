"""L0 of an engine: the argument that a wish names; those that would win over it go in the same edit.

Source: vLLM, config/cache.py: `kv_cache_memory_bytes` wins over `gpu_memory_utilization`; `num_gpu_blocks_override`
sets the number of blocks whatever they say.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.changes.refused import RefusedError
from controller.changes.workloads.draft import Draft
from controller.changes.workloads.place import Place
from controller.reading.processes import Process
from controller.reading.sizes import integer_of, l0_of
from controller.reading.told import variable_of
from tierdeck.changes.wish import L0Wish

SHARE, BYTES, BLOCKS = "--gpu-memory-utilization", "--kv-cache-memory-bytes", "--num-gpu-blocks-override"


def arguments_of(wish: L0Wish) -> Mapping[str, str | None]:
    """By flag, its value; None: it would win over the one that is wished, and goes."""
    if wish.share is not None:
        return {BYTES: None, BLOCKS: None, SHARE: f"{wish.share:g}"}
    if wish.size_bytes is not None:
        return {BLOCKS: None, BYTES: str(wish.size_bytes)}
    return {BYTES: None, BLOCKS: str(wish.blocks)}


def is_in_effect(process: Process, wish: L0Wish) -> bool:
    """It is told just this, in whatever spelling."""
    wished = arguments_of(wish)
    if any(process.command.has(name) for name, value in wished.items() if value is None):
        return False
    stated = process.command.value(*(name for name, value in wished.items() if value is not None))
    if wish.share is not None:
        try:
            return float(stated) == wish.share
        except ValueError:
            return False
    if wish.size_bytes is not None:
        return integer_of(stated) == wish.size_bytes
    return stated == next(value for value in wished.values() if value is not None)


def set_l0(draft: Draft, place: Place, wish: L0Wish) -> None:
    """
    Raises:
        RefusedError, NotEditableError: it can't be.
    """
    process = draft.process(place)
    if is_in_effect(process, wish):
        return
    wished = arguments_of(wish)
    refuse_l0(process, wished)
    for name, value in wished.items():
        draft.argue(place, name, value)
    if not is_in_effect(draft.process(place), wish):
        raise RefusedError("not_possible", f"{place.process.where} would not be told {wish.text} by its arguments")
    draft.warn(*l0_warnings(process))


def refuse_l0(process: Process, wished: Mapping[str, str | None]) -> None:
    """
    Raises:
        RefusedError: the engine takes L0 from something else.
    """
    for name in wished:
        if process.environment.get(variable_of(name)) is not None:
            raise RefusedError(
                "not_possible",
                f"{process.where}: the image makes {name} of the variable {variable_of(name)} as well",
                "Remove that variable first.",
            )
    if process.environment.get("VLLM_CPU_KVCACHE_SPACE") is not None:
        raise RefusedError(
            "not_possible",
            f"{process.where} is a CPU engine, whose L0 is VLLM_CPU_KVCACHE_SPACE by its version's rules",
            "Change that variable by hand.",
        )


def l0_warnings(process: Process) -> list[str]:
    found = []
    if l0_of(process).size_bytes == 0:
        found.append(f"{process.where}: prefix caching is off, so a larger L0 keeps nothing for the next request.")
    if process.command.has("--config"):
        found.append(f"{process.where}: the file of --config, which is not read, may set L0 by another argument.")
    return found
