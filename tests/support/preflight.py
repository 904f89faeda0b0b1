"""A small endpoint on a small cluster, as preflight checks look at it: one Deployment of vLLM with LMCache inside."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.api.errors import ForbiddenError, NotServedError
from controller.backends.deployment import DEPLOYMENT
from controller.changes.planner import Load, Look
from controller.changes.preflight.check import Checked
from controller.objects import Raw
from controller.reading.scene import Scene
from controller.resources import Resource
from tests.support.manifests import objects_of
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Plan, Write
from tierdeck.changes.wish import Wish
from tierdeck.deployed import ObjectRef

GIB = 2**30
ENGINE = ObjectRef("Deployment", "llm", "chat")
CONTAINER = ("spec", "template", "spec", "containers", "[name=vllm]")
MEMORY_LIMIT = (*CONTAINER, "resources", "limits", "memory")
MEMORY_REQUEST = (*CONTAINER, "resources", "requests", "memory")
CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
Manifest = dict[str, Any]


@dataclass
class Shelf:
    """A reader of collections that are not watched.

    Attributes:
        lists: by API path; what is not there is an empty list.
        forbidden, unserved: paths that may not be read, and that the server does not have.
    """

    lists: Mapping[str, Sequence[Raw]] = field(default_factory=dict)
    forbidden: Sequence[str] = ()
    unserved: Sequence[str] = ()

    def get(self, ref: ObjectRef) -> Raw | None:
        return None

    def list(self, path: str) -> Sequence[Raw]:
        if path in self.forbidden:
            raise ForbiddenError("the test forbids it")
        if path in self.unserved:
            raise NotServedError("the test does not have it")
        return self.lists.get(path, ())

    def address_of(self, ref: ObjectRef) -> tuple[str, str]:
        raise NotServedError("the test has no addresses")


def engine(
    *,
    memory: str | None = "64Gi",
    l1: str | None = "40",
    gpus: int = 1,
    replicas: int = 2,
    args: Sequence[str] = (),
    strategy: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
) -> Manifest:
    """The Deployment, rolled out; L1 in GiB per rank.

    Args:
        memory: limit and request; None: neither.
        template: beside what the pod's spec has.
    """
    resources: dict[str, Any] = {side: {"nvidia.com/gpu": str(gpus)} if gpus else {} for side in ("limits", "requests")}
    if memory is not None:
        resources["limits"]["memory"] = resources["requests"]["memory"] = memory
    container = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "args": ["--model", "m", "--kv-transfer-config", CONNECTOR, *args],
        "env": [{"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": l1}] if l1 is not None else [],
        "resources": resources,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "chat", "namespace": "llm", "uid": "d-1", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "chat"}},
            "strategy": strategy or {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"app": "chat"}},
                "spec": {"containers": [container], **(template or {})},
            },
        },
        "status": {
            "observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
        },
    }  # fmt: skip


def pods_of(deployment: Manifest, *nodes: str) -> list[Manifest]:
    """The Deployment's ReplicaSet, and a ready pod of it on each of these nodes."""
    namespace, name = deployment["metadata"]["namespace"], deployment["metadata"]["name"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": deployment["metadata"]["uid"]}
    made = {"metadata": {"name": f"{name}-1", "namespace": namespace, "uid": f"r-{name}", "ownerReferences": [owner]}}
    found: list[Manifest] = [{"kind": "ReplicaSet", **made}]
    for at, node in enumerate(nodes):
        spec = copy.deepcopy(deployment["spec"]["template"]["spec"])
        by = [{"kind": "ReplicaSet", "name": f"{name}-1", "uid": f"r-{name}"}]
        metadata = {"name": f"{name}-1-{at}", "namespace": namespace, "labels": {"app": name}, "ownerReferences": by}
        status = {"phase": "Running", "podIP": f"10.0.0.{at + 1}", "conditions": [{"type": "Ready", "status": "True"}]}
        found.append({"kind": "Pod", "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status})
    return found


def node(name: str, *, memory: str = "128Gi", gpus: int = 1, **more: Any) -> Manifest:
    """A node that is ready.

    Args:
        more: `labels`, `spec`, and `ready` (False: it is not).
    """
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": more.get("labels", {})},
        "spec": more.get("spec", {}),
        "status": {
            "allocatable": {"memory": memory, "cpu": "16", "pods": "110", "nvidia.com/gpu": str(gpus)},
            "conditions": [{"type": "Ready", "status": "True" if more.get("ready", True) else "False"}],
        },
    }


def pod(name: str, on: str, *, memory: str = "", labels: Mapping[str, str] | None = None, **sides: Any) -> Manifest:
    """A pod of somebody else's.

    Args:
        sides: `limits`, `requests`, in place of `memory`.
    """
    resources = sides or {"requests": {"memory": memory} if memory else {}}
    metadata = {"name": name, "namespace": "others", "labels": dict(labels or {})}
    container = {"name": "main", "image": "busybox", "resources": resources}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": on, "containers": [container]},
            "status": {"phase": "Running"}}  # fmt: skip


def look(
    *manifests: Manifest,
    reader: Shelf | None = None,
    load: Load | None = None,
    blind: Mapping[Resource, str] | None = None,
) -> Look:
    """The endpoint llm/chat among these objects."""
    objects = objects_of(manifests, blind)
    found = next(one for one in DEPLOYMENT.find(objects, ()) if one.deployed.endpoint == "llm/chat")
    load = load or Load(running=1, waiting=0, request_seconds=5)
    return Look(objects, Scene(objects), found.deployed, reader or Shelf(), 1000.0, load)


def edit(path: tuple[str, ...], after: Json, before: Json = ABSENT) -> FieldEdit:
    return FieldEdit(path, before, after)


def plan(*edits: FieldEdit, restarts: Sequence[ObjectRef] = (ENGINE,)) -> Plan:
    """These edits of the Deployment."""
    return Plan(
        (Write(ENGINE, "/apis/apps/v1/namespaces/llm/deployments/chat", "apps/v1", edits),), (), tuple(restarts)
    )


def memory_to(size: str) -> tuple[FieldEdit, FieldEdit]:
    """Limit and request of the engine's container."""
    return edit(MEMORY_LIMIT, size), edit(MEMORY_REQUEST, size)


def l1_of(gib: float) -> Wish:
    return Wish(l1_bytes=int(gib * GIB))


def codes(checked: Checked) -> list[str]:
    return [one.code for one in checked.refusals]
