"""Whether each running pod's own spec carries what it has to, exactly once: what was written elsewhere is no proof.

Sources: aws/sagemaker-hyperpod-cli#431 (an operator strips `LMCACHE_*`; another version gives them twice).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.fields import items, mapping, text
from controller.reading.lineage import Found
from controller.reading.processes import read_spec
from tierdeck.changes.plan import Carried, Carrying
from tierdeck.changes.shown import HIDDEN, is_shown, shown
from tierdeck.deployed import ObjectRef


def wrong(carried: Carried, pods: Sequence[Found], objects: Objects, renderer: str) -> str:
    """What the first pod that is wrong lacks or has twice; empty: all are well.

    Args:
        pods: that run.
        renderer: who makes the pods' template of what was written; empty: it was written itself.
    """
    return next((words for pod in pods for words in _of_pod(carried, pod, objects, renderer)), "")


def _of_pod(carried: Carried, pod: Found, objects: Objects, renderer: str) -> Iterator[str]:
    ref, raw = pod
    container = next((one for one in items(raw, "spec", "containers") if text(one, "name") == carried.container), None)
    if container is None:
        yield f"{ref} has no container {carried.container}"
        return
    if carried.kind is Carrying.ENVIRONMENT:
        found, unknown = _variables(carried.name, container)
    else:
        found, unknown = _arguments(carried, raw, ref, objects)
    words = f"container {carried.container} of {ref}"
    if unknown:
        yield f"{carried.name} of {words} can't be read: {unknown}"
    elif carried.value is None:
        if found:
            yield f"{words} still has {carried.name} ({_shown(carried, found[-1])})"
    elif not found:
        yield f"{renderer} removed {carried.name}: {words} lacks it" if renderer else f"{words} lacks {carried.name}"
    elif len(found) > 1:
        values = ", ".join(_shown(carried, one) for one in found)
        yield f"{words} has {carried.name} {len(found)} times ({values})"
    elif not _same(found[0], carried.value):
        told = f"{carried.name} {_shown(carried, found[0])}, not {_shown(carried, carried.value)}"
        yield f"{renderer} gave {words} {told}" if renderer else f"{words} has {told}"


def _variables(name: str, container: Raw) -> tuple[list[str], str]:
    """Values of each entry of that name; and why one can't be read."""
    entries = [one for one in items(container, "env") if text(one, "name") == name]
    elsewhere = next((next(iter(mapping(one, "valueFrom")), "") for one in entries if mapping(one, "valueFrom")), "")
    return [text(one, "value") for one in entries], f"its value comes from elsewhere ({elsewhere})" if elsewhere else ""


def _arguments(carried: Carried, raw: Raw, ref: ObjectRef, objects: Objects) -> tuple[list[str], str]:
    spec = read_spec(mapping(raw, "spec"), Configs(objects, ref.namespace), str(ref))
    command = next(one.command for one in spec.processes if one.name == carried.container)
    if command.problem:
        return [], command.problem
    stated = command.all(carried.name)
    flags_alone = [one for one in stated if not one.value and "without a value" in one.reason]
    if flags_alone and carried.value == "":
        return ["" for _ in stated], ""
    reason = next((one.reason for one in stated if one.reason), "")
    return [one.value for one in stated], reason


def _same(found: str, wanted: str) -> bool:
    """Numbers that are spelled in two ways are the same."""
    if found == wanted:
        return True
    try:
        return float(found) == float(wanted)
    except ValueError:
        return False


def _shown(carried: Carried, value: str) -> str:
    if carried.kind is Carrying.ENVIRONMENT:
        return value if is_shown(carried.name, value) else HIDDEN
    return str(shown(value))
