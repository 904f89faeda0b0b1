"""What becomes of a pod that gets L2: pure, as a JSON patch. Patching twice is patching once.

Only the engine's container is touched, and of the pod its volumes and one annotation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath

from controller.objects import Objects, Raw
from controller.reading.configs import Configs
from controller.reading.fields import field, items, labels, mapping, text
from controller.reading.processes import read_spec
from tierdeck.deployed import Component
from tierdeck.l2.identity import ModelIdentity
from tierdeck.l2.wiring import HASH_SEED, RANDOM, VOLUME, Variable, Wiring

ANNOTATION = "tierdeck.io/l2-injected"
MOST_ANNOTATIONS = 256 * 2**10
"""Bytes of all keys and values of an object's annotations; with more, the pod would be refused.

Source: Kubernetes, apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB.
"""

Operation = Mapping[str, object]
"""One step of a JSON patch (RFC 6902)."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The steps; none where the pod is as it should be.

    Attributes:
        did: what they do to its spec, a few words each; empty: it is wired already.
        warnings: what is to be said of the pod, wired as it is.
    """

    operations: tuple[Operation, ...] = ()
    did: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unfit:
    """A pod that can't be wired without breaking something that it states itself."""

    reason: str


def patch_of(pod: Raw, container: str, wiring: Wiring, identity: ModelIdentity) -> Patch | Unfit:
    """The patch that wires a pod.

    Args:
        container: the name of its engine.
    """
    found = [at for at, one in enumerate(_list(pod, "containers")) if text(one, "name") == container]
    if len(found) != 1:
        return Unfit(f"it has {len(found)} containers {container!r}")
    where = f"/spec/containers/{found[0]}"
    engine = _list(pod, "containers")[found[0]]
    volume = _volume(pod, wiring)
    if isinstance(volume, Unfit):
        return volume
    name, volumes = volume
    mounts = _mounts(engine, name, wiring)
    if isinstance(mounts, Unfit):
        return mounts
    did: list[str] = []
    variables = _environment(_list(engine, "env", above=()), wiring.variables(), did)
    steps: list[Operation] = []
    if variables != field(engine, "env"):
        steps.append({"op": "add", "path": f"{where}/env", "value": variables})
    if mounts != field(engine, "volumeMounts"):
        steps.append({"op": "add", "path": f"{where}/volumeMounts", "value": mounts})
        did.append(f"mount {wiring.policy.mount_path}")
    if volumes != field(pod, "spec", "volumes"):
        steps.append({"op": "add", "path": "/spec/volumes", "value": volumes})
        did.append(f"volume {name}: claim {wiring.policy.claim}")
    warnings = tuple(_other_engines(pod, container))
    noted = labels(pod, "metadata", "annotations")
    if not steps and ANNOTATION in noted:
        return Patch(warnings=warnings)
    told = explained(wiring, identity, container, did, warnings), _short(wiring)
    steps += _note(noted, field(pod, "metadata", "annotations"), told)
    return Patch(tuple(steps), tuple(did), warnings)


def _other_engines(pod: Raw, container: str) -> Iterator[str]:
    """An address of L2 would be that of one model for both."""
    others = [one.name for one in read_spec(mapping(pod, "spec"), Configs(Objects("", {}), ""), "").processes
              if one.component is Component.ENGINE and one.name != container]  # fmt: skip
    if others:
        yield f"only its engine {container} is wired to L2, and {', '.join(others)} keeps the L2 that it states"


def _volume(pod: Raw, wiring: Wiring) -> tuple[str, list[object]] | Unfit:
    """The volume's name, and all volumes with it; one that has the claim already is taken, by hand or by us."""
    known = _list(pod, "volumes")
    for one in known:
        if text(one, "persistentVolumeClaim", "claimName") == wiring.policy.claim:
            if field(one, "persistentVolumeClaim", "readOnly") is True:
                return Unfit(f"its volume {text(one, 'name')} has claim {wiring.policy.claim} read-only")
            return text(one, "name"), list(known)
    if any(text(one, "name") == VOLUME for one in known):
        return Unfit(f"it has a volume {VOLUME} that is not claim {wiring.policy.claim}")
    return VOLUME, [*known, dict(wiring.volume())]


def _mounts(engine: Raw, volume: str, wiring: Wiring) -> list[object] | Unfit:
    known, path = _list(engine, "volumeMounts", above=()), wiring.policy.mount_path
    for device in items(engine, "volumeDevices"):
        name, at = text(device, "name"), text(device, "devicePath")
        if name == volume or normpath(at) == path:
            return Unfit(f"its volume {name} is a device of its engine, at {at}")
    for one in known:
        if normpath(text(one, "mountPath")) != path:
            continue
        if text(one, "name") != volume:
            return Unfit(f"its volume {text(one, 'name')} is mounted at {path} already")
        if field(one, "readOnly") is True or text(one, "subPath") or text(one, "subPathExpr"):
            return Unfit(f"its mount at {path} is read-only or of a part of the claim")
        return list(known)
    return [*known, dict(wiring.mount(volume))]


def _environment(known: Sequence[Raw], wanted: Sequence[Variable], did: list[str]) -> list[object]:
    """The variables with those that are wanted, each exactly once where it replaces; the others keep their order."""
    made: list[object] = [*known]
    for variable in wanted:
        entry = {"name": variable.name, "value": variable.value}
        there = [one for one in made if isinstance(one, Mapping) and one.get("name") == variable.name]
        if there and not variable.replaces and not _is_random(variable, there):
            continue
        if there == [entry]:
            continue
        first = next((at for at, one in enumerate(made) if one in there), len(made))
        made = [one for one in made if one not in there]
        made.insert(first, entry)
        did.append(variable.name + _instead(there))
    return made


def _is_random(variable: Variable, there: Sequence[object]) -> bool:
    """Python then draws another seed in each process, as if none were set. The last of several counts."""
    last = there[-1]
    if variable.name != HASH_SEED or not isinstance(last, Mapping) or last.get("valueFrom"):
        return False
    return text(last, "value") in ("", RANDOM)


def _instead(there: Sequence[object]) -> str:
    if not there:
        return " added"
    return " replaced" if len(there) == 1 else f" replaced, {len(there)} entries made one"


def explained(
    wiring: Wiring, identity: ModelIdentity, container: str, did: Sequence[str], warnings: Sequence[str] = ()
) -> str:
    """What the annotation says."""
    warned = [*identity.warnings, *warnings]
    told = {
        "by": wiring.policy.origin,
        "container": container,
        "claim": wiring.policy.claim,
        "url": wiring.url,
        "identity": identity.facts(),
        "did": list(did),
        **({"warnings": warned} if warned else {}),
    }
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _short(wiring: Wiring) -> str:
    """What it says where there is room for no more."""
    told = {"by": wiring.policy.origin, "url": wiring.url, "is_short": True}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _note(noted: Mapping[str, str], written: object, told: Sequence[str]) -> list[Operation]:
    """Write the first text that there is room for; none is written where there is room for none."""
    path = f"/metadata/annotations/{ANNOTATION.replace('/', '~1')}"
    others = sum(_size(key) + _size(value) for key, value in noted.items() if key != ANNOTATION)
    room = MOST_ANNOTATIONS - others - _size(ANNOTATION)
    fitting = next((one for one in told if _size(one) <= room), None)
    if fitting is None:
        return [{"op": "remove", "path": path}] if ANNOTATION in noted else []
    bare: list[Operation] = []
    if not noted and not isinstance(written, Mapping):
        bare.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    return [*bare, {"op": "add", "path": path, "value": fitting}]


def _size(written: str) -> int:
    return len(written.encode("utf-8", "surrogatepass"))


def _list(raw: Raw, name: str, above: tuple[str, ...] = ("spec",)) -> list[Raw]:
    return items(raw, *above, name)
