"""What a dry run would change, as a unified diff of YAML: only what people set, and nothing that is secret."""

from __future__ import annotations

import difflib

import yaml

from controller.objects import Raw
from controller.reading.fields import mapping
from tierdeck.changes.shown import shown
from tierdeck.deployed import ObjectRef

_SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "deletionTimestamp")  # fmt: skip  # noqa: E501
_NOISE = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")
_CONTEXT = 3


def diff(ref: ObjectRef, live: Raw, answer: Raw) -> str:
    """Empty where nothing would change, or only what is not shown."""
    before, after = _lines(live), _lines(answer)
    return "\n".join(difflib.unified_diff(before, after, f"{ref} (now)", f"{ref} (changed)", n=_CONTEXT, lineterm=""))


def _lines(raw: Raw) -> list[str]:
    metadata = {key: one for key, one in mapping(raw, "metadata").items() if key not in _SERVERS_OWN}
    if "annotations" in metadata:
        noted = {key: one for key, one in mapping(metadata, "annotations").items() if key not in _NOISE}
        metadata = {key: one for key, one in metadata.items() if key != "annotations"}
        metadata |= {"annotations": noted} if noted else {}
    first = {"apiVersion": raw.get("apiVersion"), "kind": raw.get("kind"), "metadata": metadata}
    kept = first | {key: one for key, one in raw.items() if key not in (*first, "status")}
    return yaml.safe_dump(shown(kept), sort_keys=False, width=160, allow_unicode=True).splitlines()
