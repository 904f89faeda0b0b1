"""One endpoint of an example, as a planner looks at it: manifests in place of the API server."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.api.errors import NotServedError
from controller.backends import BACKENDS
from controller.changes.planner import Load, Look
from controller.changes.planners import PLANNERS
from controller.objects import Raw
from controller.reading.scene import Scene
from controller.resources import CONFIG_MAPS, RESOURCES, path_of
from tests.support.manifests import documents, objects_of
from tierdeck.changes.plan import FieldEdit, Json, Plan, Refusal
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

NOW = 1_800_000_000.0
Documents = list[dict[str, Any]]
_KNOWN = {one.kind: one for one in (*RESOURCES, CONFIG_MAPS)}


class ManifestReader:
    """Reads these manifests."""

    def __init__(self, found: Documents) -> None:
        self._found = found

    def get(self, ref: ObjectRef) -> Raw | None:
        for one in self._found:
            meta = one["metadata"]
            if (one["kind"], meta.get("namespace", ""), meta["name"]) == (ref.kind, ref.namespace, ref.name):
                return one
        return None

    def list(self, path: str) -> Sequence[Raw]:
        return ()

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        known = _KNOWN.get(ref.kind)
        if known is None:
            raise NotServedError(f"these manifests have no {ref.kind}")
        return path_of(known, ref.namespace, ref.name), "/".join(filter(None, (known.group, known.versions[0])))


def changed(example: str, change: Callable[[Documents], None] | None = None) -> Documents:
    """An example's manifests, changed."""
    made = copy.deepcopy(documents(example))
    if change is not None:
        change(made)
    return made


def look_at(found: Documents, load: Load | None = None) -> Look:
    """The one endpoint in them."""
    watched = [one for one in found if one["kind"] in _KNOWN]
    objects = objects_of(watched)
    taken: set[ObjectRef] = set()
    endpoints = []
    for backend in BACKENDS:
        for one in backend.find(objects, taken):
            taken |= set(one.claimed)
            endpoints += [] if one.deployed.is_pool else [one.deployed]
    (deployed,) = endpoints
    return Look(objects, Scene(objects), deployed, ManifestReader(found), NOW, load or Load())


def plan(found: Documents, wish: Wish, load: Load | None = None) -> Plan | tuple[Refusal, ...]:
    """By the planner of its backend."""
    look = look_at(found, load)
    (planner,) = [one for one in PLANNERS if look.deployed.backend in one.names]
    return planner.plan(look, wish)


def planned(found: Documents, wish: Wish, load: Load | None = None) -> Plan:
    made = plan(found, wish, load)
    assert isinstance(made, Plan), made
    return made


def refused(found: Documents, wish: Wish, load: Load | None = None) -> tuple[Refusal, ...]:
    made = plan(found, wish, load)
    assert not isinstance(made, Plan), made
    return made


def codes(found: tuple[Refusal, ...]) -> list[str]:
    return [one.code for one in found]


def edits(made: Plan) -> Mapping[str, tuple[Json, Json]]:
    """What becomes of which field, by object and path."""
    return {f"{write.ref} {edit.where}": (edit.before, edit.after) for write in made.writes for edit in write.edits}


def pick(found: Documents, kind: str, name: str) -> dict[str, Any]:
    return next(one for one in found if (one["kind"], one["metadata"]["name"]) == (kind, name))


def container(found: Documents, name: str, kind: str = "Deployment") -> dict[str, Any]:
    """The first container of a workload's template."""
    made: dict[str, Any] = pick(found, kind, name)["spec"]["template"]["spec"]["containers"][0]
    return made


def applied(found: Documents, made: Plan) -> Documents:
    """The manifests with a plan's writes in them, each checked against what it was planned on."""
    after = copy.deepcopy(found)
    for write in made.writes:
        for edit in write.edits:
            _apply(pick(after, write.ref.kind, write.ref.name), edit)
    return after


def _apply(raw: Any, edit: FieldEdit) -> None:
    *above, last = edit.path
    for part in above:
        raw = _at(raw, part)
    if last.startswith("["):
        index = next((at for at, one in enumerate(raw) if f"[name={one['name']}]" == last), None)
        assert (edit.before == raw[index]) if index is not None else str(edit.before).endswith("absent")
        if index is not None:
            del raw[index]
        if not str(edit.after).endswith("absent"):
            raw.append(edit.after)
        return
    assert raw.get(last, "\u2205absent") == edit.before
    if str(edit.after) == "\u2205absent":
        raw.pop(last, None)
    else:
        raw[last] = edit.after


def _at(raw: Any, part: str) -> Any:
    if part.startswith("["):
        return next(one for one in raw if f"[name={one['name']}]" == part)
    return raw.setdefault(part, [] if part == "env" else {})


def turned(made: Plan) -> Plan:
    """The plan of its revert: what each field was is written back."""
    writes = tuple(
        replace(
            write,
            edits=tuple(
                FieldEdit(edit.path, edit.after, edit.before if edit.back is None else edit.back)
                for edit in reversed(write.edits)
            ),
        )
        for write in reversed(made.writes)
    )
    return replace(made, writes=writes)
