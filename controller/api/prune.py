"""What is kept of an object: the fields that the inventory reads, so that a cluster's pods fit into memory.

What changes from heartbeat to heartbeat without meaning anything is left out: an object that is
equal after pruning has not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.resources import DEPLOYMENTS, NODES, PODS, STATEFUL_SETS, Resource

_METADATA = (
    "name", "namespace", "uid", "labels", "annotations", "ownerReferences",
    "creationTimestamp", "deletionTimestamp", "generation",
)  # fmt: skip
_POD_SPEC = ("nodeName", "volumes", "hostNetwork")
_CONTAINER = (
    "name", "image", "command", "args", "env", "envFrom", "ports", "resources", "volumeMounts", "restartPolicy",
)  # fmt: skip
_POD_STATUS = (
    "phase", "reason", "message", "podIP", "hostIP", "startTime",
    "containerStatuses", "initContainerStatuses", "conditions",
)  # fmt: skip
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONDITION_CLOCKS = ("lastHeartbeatTime", "lastProbeTime", "lastUpdateTime", "observedGeneration")


def prune(resource: Resource, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The object with what is read of it; a part of the wrong type is kept as it is."""
    with_writers = resource.is_custom or resource in (DEPLOYMENTS, STATEFUL_SETS)
    kept: dict[str, Any] = {"metadata": _metadata(raw.get("metadata"), with_writers=with_writers)}
    if resource is PODS:
        kept["spec"] = _pod_spec(raw.get("spec"))
        kept["status"] = _status(_some(raw.get("status"), _POD_STATUS))
    elif resource is NODES:
        kept["spec"] = _some(raw.get("spec"), ("unschedulable", "taints", "providerID"))
        kept["status"] = _status(_some(raw.get("status"), ("allocatable", "capacity", "conditions")))
    else:
        rest = {name: part for name, part in raw.items() if name not in ("metadata", "apiVersion", "kind", "status")}
        kept |= rest
        kept["status"] = _status(raw.get("status"))
    return kept


def _metadata(metadata: object, *, with_writers: bool) -> object:
    """With who wrote which field, where that is asked for: not of the status, which changes all the time."""
    kept = _some(metadata, _METADATA)
    if not isinstance(metadata, Mapping) or not isinstance(kept, dict):
        return kept
    annotations, writers = kept.get("annotations"), metadata.get("managedFields")
    if isinstance(annotations, Mapping) and _LAST_APPLIED in annotations:
        kept["annotations"] = {name: text for name, text in annotations.items() if name != _LAST_APPLIED}
    if with_writers and isinstance(writers, list):
        kept["managedFields"] = [one for one in writers if not (isinstance(one, Mapping) and one.get("subresource"))]
    return kept


def _pod_spec(spec: object) -> object:
    kept = _some(spec, _POD_SPEC)
    if isinstance(spec, Mapping) and isinstance(kept, dict):
        for name in ("containers", "initContainers"):
            if isinstance(spec.get(name), list):
                kept[name] = [_some(container, _CONTAINER) for container in spec[name]]
    return kept


def _status(status: object) -> object:
    if not isinstance(status, Mapping) or not isinstance(status.get("conditions"), list):
        return status
    conditions = [
        {name: part for name, part in one.items() if name not in _CONDITION_CLOCKS} if isinstance(one, Mapping) else one
        for one in status["conditions"]
    ]
    return {**status, "conditions": conditions}


def _some(part: object, names: tuple[str, ...]) -> object:
    if not isinstance(part, Mapping):
        return part
    return {name: part[name] for name in names if name in part}
