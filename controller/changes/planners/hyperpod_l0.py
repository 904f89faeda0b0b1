"""L0 in an endpoint's arguments: one flag, stated where it takes effect, and none that would win over it.

Sources: vLLM, config/cache.py (`--kv-cache-memory-bytes` wins over `--gpu-memory-utilization`);
sagemaker-hyperpod-cli, CRD v1 (the arguments of prefill and decode are appended to `worker.args`, and override them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.changes.edits.arguments import with_argument
from controller.changes.edits.difference import edits_between
from controller.changes.edits.errors import NotEditableError
from controller.changes.planners.hyperpod_resource import HyperPodResource
from controller.changes.workloads.l0 import BLOCKS, BYTES, SHARE, arguments_of
from controller.objects import Raw
from controller.reading.commands import Command
from controller.reading.fields import mapping, words
from controller.reading.told import variable_of
from tierdeck.changes.plan import Carried, Carrying, FieldEdit
from tierdeck.changes.wish import L0Wish

FLAGS = (SHARE, BYTES, BLOCKS)
ROLES = ("prefillSpec", "decodingSpec")
_WORKER = ("spec", "worker")


def l0_edits(found: HyperPodResource, wish: L0Wish) -> tuple[FieldEdit, ...]:
    """The lists of arguments that change: the worker's, and those of prefill and decode that state an L0 of their own.

    Where both state one, it stays there; else it is stated for both in `worker.args`, since twice is once too often.

    Raises:
        NotEditableError: L0 is stated in a way that is not written.
    """
    wished = arguments_of(wish)
    _refuse_variables(found)
    worker = mapping(found.raw, *_WORKER)
    roles = tuple(_roles(found))
    own = [(path, part) for path, part in roles if _states(part)]
    is_shared = not own or len(own) < len(roles)
    edits = edits_between(worker, _with(worker, wished, is_given=is_shared), _WORKER)
    for path, part in own:
        edits += edits_between(part, _with(part, wished, is_given=not is_shared), path)
    return edits


def l0_carried(found: HyperPodResource, wish: L0Wish) -> Iterator[Carried]:
    """Each engine is told it once, and nothing that would win over it."""
    wished = sorted(arguments_of(wish).items(), key=lambda one: one[1] is None)
    for ref, _ in found.engines:
        for name, value in wished:
            yield Carried(ref, found.ref.name, Carrying.ARGUMENT, name, value)


def _with(part: Raw, wished: Mapping[str, str | None], *, is_given: bool) -> Raw:
    made = part
    for name, value in wished.items():
        made = with_argument(made, name, value if is_given else None)
    return made


def _states(part: Raw) -> bool:
    command = Command(tuple(words(part, "args")))
    return any(command.has(one) for one in FLAGS)


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
