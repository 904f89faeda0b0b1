"""Who opted in to L2, and with which policy: by label and annotations of a pod or what it comes from, or by the file.

The nearest to the pod wins. HyperPod's operator passes no label on to pods, so that its custom resource, or the file,
is where its endpoints opt in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from controller.reading.fields import labels
from controller.reading.lineage import Found
from tierdeck.l2.file import L2File, L2Options
from tierdeck.l2.policy import L2Policy

SWITCH = "tierdeck.io/l2"
CLAIM = "tierdeck.io/l2-claim"
MOUNT_PATH = "tierdeck.io/l2-mount-path"
MIN_RETRIEVE_TOKENS = "tierdeck.io/l2-min-retrieve-tokens"
MODEL_REVISION = "tierdeck.io/model-revision"
_ON, OFF = ("true", "on", "enabled"), ("false", "off", "disabled")
_FIELDS: Mapping[str, str] = {
    CLAIM: "claim",
    MOUNT_PATH: "mount_path",
    MIN_RETRIEVE_TOKENS: "min_retrieve_tokens",
    MODEL_REVISION: "model_revision",
}


@dataclass(frozen=True, slots=True)
class Misstated:
    """It opted in, and what it states can't be used."""

    reason: str


Wanted = L2Policy | Misstated | None
"""None: it did not opt in."""


def policy_of(file: L2File, objects: Sequence[Found]) -> Wanted:
    """What a pod gets.

    Args:
        objects: the pod, then what it comes from, the nearest first: workload, source.
    """
    listed = file.listed(f"{ref.namespace}/{ref.name}" for ref, _ in reversed(objects))
    switch = _switch(objects)
    if isinstance(switch, Misstated):
        return switch
    is_wanted = switch[1] if switch is not None else listed is not None and listed[1].opted_in is not False
    if not is_wanted:
        return None
    options, origins = file.defaults, []
    if listed is not None:
        options, origins = listed[1].over(options), [f"the L2 file, endpoints {listed[0]}"]
    for ref, raw in reversed(objects):
        found = _options(raw)
        if isinstance(found, str):
            return Misstated(f"{ref}: {found}")
        if found.model_dump(exclude_none=True):
            options, origins = found.over(options), [f"annotations of {ref}", *origins]
    if switch is not None:
        origins = [switch[0], *(one for one in origins if not switch[0].endswith(one.removeprefix("annotations of ")))]
    policy = options.policy(origins[0])
    if policy is None:
        return Misstated(f"{origins[0]}: no claim is named ({CLAIM}, or `claim` in the L2 file)")
    return policy


def opted_out(file: L2File, objects: Sequence[Found]) -> str:
    """What says that a pod is to have no L2; empty: nothing does.

    Args:
        objects: as for `policy_of`.
    """
    switch = _switch(objects)
    if isinstance(switch, Misstated):
        return ""
    if switch is not None:
        return "" if switch[1] else switch[0]
    listed = file.listed(f"{ref.namespace}/{ref.name}" for ref, _ in reversed(objects))
    return f"opted_in: false of {listed[0]} in the L2 file" if listed and listed[1].opted_in is False else ""


def _switch(objects: Sequence[Found]) -> tuple[str, bool] | Misstated | None:
    """The nearest object that says whether it opts in."""
    for ref, raw in objects:
        stated = labels(raw, "metadata", "labels").get(SWITCH) or labels(raw, "metadata", "annotations").get(SWITCH)
        if stated is None:
            continue
        if stated.lower() not in (*_ON, *OFF):
            return Misstated(f"{ref}: {SWITCH} is {stated!r}: true or false is needed")
        return f"{SWITCH} of {ref}", stated.lower() in _ON
    return None


def _options(raw: Mapping[str, object]) -> L2Options | str:
    """What an object's annotations state; a text is what is wrong with them."""
    noted = labels(raw, "metadata", "annotations")
    stated: dict[str, object] = {field: noted[name] for name, field in _FIELDS.items() if name in noted}
    try:
        return L2Options.model_validate(stated)
    except ValidationError as error:
        name = next(name for name, field in _FIELDS.items() if field == error.errors()[0]["loc"][0])
        return f"{name} can't be {noted[name]!r}"
