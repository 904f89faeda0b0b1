"""A workload that an operator renders, as it will become: an estimate from what is written to its custom resource.

Sources: HyperPod's CRDs (`spec.worker.resources`, `spec.pdSpec.prefillSpec.resources`), production-stack's
VLLMRuntime and VLLMRouter (`resources: {cpu, memory}`, of which the operator makes request and limit alike).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.changes.preflight.edited import edited
from controller.objects import Raw
from tierdeck.changes.plan import FieldEdit, Write
from tierdeck.deployed import Component, ObjectRef

_RESOURCES = "resources"
_SIDES = ("requests", "limits")
_BY_ROLE = {"prefillSpec": "prefill-", "decodingSpec": "decode-"}
_RENDERS = {"VLLMRouter": Component.ROUTER, "CacheServer": Component.LMCACHE}
"""Custom resources that render something else than engines."""


def rendered(ref: ObjectRef, raw: Raw, container: tuple[str, Component], writes: Iterable[Write]) -> Raw:
    """The workload with the resources that writes to custom resources will give its container.

    Args:
        container: the name of the one that matters, and which part it is.
    """
    name, component = container
    above = ("spec", "template", "spec", "containers", f"[name={name}]", _RESOURCES)
    edits = [
        made
        for write in writes
        if _RENDERS.get(write.ref.kind, Component.ENGINE) is component
        for edit in write.edits
        if _RESOURCES in edit.path and _is_of(ref, edit.path)
        for made in _translated(above, edit)
    ]
    return edited(raw, edits)


def _is_of(ref: ObjectRef, path: tuple[str, ...]) -> bool:
    """Prefill and decode, where they are apart, have resources of their own."""
    return all(ref.name.startswith(prefix) for role, prefix in _BY_ROLE.items() if role in path)


def _translated(above: tuple[str, ...], edit: FieldEdit) -> Iterator[FieldEdit]:
    below = edit.path[edit.path.index(_RESOURCES) + 1 :]
    is_flat = not below and isinstance(edit.after, dict) and not set(_SIDES) & edit.after.keys()
    if is_flat and isinstance(edit.after, dict):
        for name, value in edit.after.items():
            yield from (FieldEdit((*above, side, name), None, value) for side in _SIDES)
    elif below and below[0] not in _SIDES:
        yield from (FieldEdit((*above, side, *below), None, edit.after) for side in _SIDES)
    else:
        yield FieldEdit((*above, *below), None, edit.after)
