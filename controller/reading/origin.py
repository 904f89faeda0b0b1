"""What a pod comes from: its workload, and the custom resource that this was rendered from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller.objects import Raw
from controller.reading.fields import items, text
from controller.reading.lineage import Found
from controller.resources import (
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_CONFIGS,
    JUMPSTART_MODELS,
    REPLICA_SETS,
    STATEFUL_SETS,
    VLLM_RUNTIMES,
    Resource,
)
from tierdeck.deployed import ObjectRef

Lookup = Callable[[Resource, str, str], Raw | None]
"""An object by resource, namespace and name; None where there is none."""
CUSTOM = (ENDPOINT_CONFIGS, JUMPSTART_MODELS, VLLM_RUNTIMES)
OWNERS = (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, *CUSTOM)
"""Kinds that are asked for; what is owned by another kind comes from itself."""
_BY_KIND = {(resource.group, resource.kind): resource for resource in OWNERS}
_MOST_STEPS = 4


@dataclass(frozen=True, slots=True)
class Origin:
    """A pod with what it comes from.

    Attributes:
        workload: its Deployment or the like; None: nothing made it.
        source: the custom resource; None: there is none.
        revision: the ReplicaSet between pod and Deployment; None: there is none.
        missing: an owner that is named and not there: what it states is not known; empty: all are.
    """

    pod: Found
    workload: Found | None = None
    source: Found | None = None
    missing: str = ""
    revision: Found | None = None

    @property
    def objects(self) -> tuple[Found, ...]:
        """The pod first."""
        return tuple(one for one in (self.pod, self.workload, self.source) if one is not None)

    @property
    def endpoint(self) -> ObjectRef:
        """What an endpoint of these pods is called after."""
        return self.objects[-1][0]


def origin_of(pod: Raw, namespace: str, get: Lookup) -> Origin:
    """Follow a pod's owners up.

    Args:
        get: asked for each owner; what it raises is not caught.
    """
    name = text(pod, "metadata", "name") or f"{text(pod, 'metadata', 'generateName')}…"
    workload: Found | None = None
    source: Found | None = None
    revision: Found | None = None
    missing = ""
    raw = pod
    for _ in range(_MOST_STEPS):
        resource, owner = _owner(raw)
        if resource is None:
            break
        ref = ObjectRef(resource.kind, namespace, text(owner, "name"))
        found = get(resource, namespace, ref.name)
        if found is None or text(found, "metadata", "uid") != text(owner, "uid"):
            missing = str(ref)
            break
        if resource in CUSTOM:
            source = ref, found
            break
        workload, raw = (ref, found), found
        revision = workload if resource is REPLICA_SETS else revision
    return Origin((ObjectRef("Pod", namespace, name), pod), workload, source, missing, revision)


def _owner(raw: Raw) -> tuple[Resource | None, Raw]:
    """Its owner of a kind that is read: the one that controls it, else the first."""
    owners = items(raw, "metadata", "ownerReferences")
    for one in sorted(owners, key=lambda owner: owner.get("controller") is not True):
        resource = _BY_KIND.get((text(one, "apiVersion").rpartition("/")[0], text(one, "kind")))
        if resource is not None:
            return resource, one
    return None, {}
