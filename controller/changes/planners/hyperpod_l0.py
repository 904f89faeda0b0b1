"""L0 in an endpoint's arguments: one flag, stated where it takes effect, and none that would win over it.

Sources: vLLM, config/cache.py (`--kv-cache-memory-bytes` wins over `--gpu-memory-utilization`);
sagemaker-hyperpod-cli, CRD v1 (the arguments of prefill and decode are appended to `worker.args`, and override them).
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.changes.edits.arguments import with_argument
from controller.changes.edits.difference import edits_between
from controller.changes.edits.errors import NotEditableError
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.objects import Raw
from controller.reading.commands import Command
from controller.reading.fields import mapping, words
from controller.reading.told import variable_of
from tierdeck.changes.plan import Carried, Carrying, FieldEdit
from tierdeck.changes.wish import L0Wish

SHARE, BYTES, BLOCKS = "--gpu-memory-utilization", "--kv-cache-memory-bytes", "--num-gpu-blocks-override"
FLAGS = (SHARE, BYTES, BLOCKS)
ROLES = ("prefillSpec", "decodingSpec")
_WORKER = ("spec", "worker")


def flag_of_wish(wish: L0Wish) -> tuple[str, str]:
    """The flag and its value."""
    if wish.share is not None:
        return SHARE, f"{wish.share:g}"
    return (BYTES, str(wish.size_bytes)) if wish.size_bytes is not None else (BLOCKS, str(wish.blocks))


def l0_edits(found: HyperPodResource, wish: L0Wish) -> tuple[FieldEdit, ...]:
    """The lists of arguments that change: the worker's, and those of prefill and decode that state an L0 of their own.

    Where both state one, it stays there; else it is stated for both in `worker.args`, since twice is once too often.

    Raises:
        NotEditableError: L0 is stated in a way that is not written.
    """
    name, value = flag_of_wish(wish)
    _refuse_variables(found)
    worker = mapping(found.raw, *_WORKER)
    roles = tuple(_roles(found))
    own = [(path, part) for path, part in roles if _states(part)]
    is_shared = not own or len(own) < len(roles)
    edits = edits_between(worker, _with(worker, name, value if is_shared else None), _WORKER)
    for path, part in own:
        edits += edits_between(part, _with(part, name, None if is_shared else value), path)
    return edits


def l0_carried(found: HyperPodResource, wish: L0Wish) -> Iterator[Carried]:
    """Each engine is told it once, and nothing that would win over it."""
    name, value = flag_of_wish(wish)
    for ref, _ in found.engines:
        yield Carried(ref, found.ref.name, Carrying.ARGUMENT, name, value)
        for other in _winning(name):
            yield Carried(ref, found.ref.name, Carrying.ARGUMENT, other, None)


def _with(part: Raw, name: str, value: str | None) -> Raw:
    made = part
    for other in _winning(name):
        made = with_argument(made, other, None)
    return with_argument(made, name, value)


def _states(part: Raw) -> bool:
    command = Command(tuple(words(part, "args")))
    return any(command.has(one) for one in FLAGS)


def _winning(name: str) -> tuple[str, ...]:
    """Flags that would win over this one, or that vLLM would take beside it."""
    return tuple(one for one in (BYTES, BLOCKS) if one != name)


def _roles(found: HyperPodResource) -> Iterator[tuple[tuple[str, ...], Raw]]:
    """Prefill and decode, where they are apart."""
    apart = mapping(found.raw, "spec", "pdSpec")
    for role in ROLES if apart else ():
        yield ("spec", "pdSpec", role), mapping(apart, role)


def _refuse_variables(found: HyperPodResource) -> None:
    """AWS's images make arguments of `SM_VLLM_*`; which of the two wins is not published."""
    names = {variable_of(flag) for flag in FLAGS}
    stated = sorted(names & {str(one.get("name")) for one in found.variables()})
    if stated:
        raise NotEditableError(
            f"{', '.join(stated)} sets L0, and whether an argument wins over it is not published",
            "Move it to spec.worker.args.",
        )
