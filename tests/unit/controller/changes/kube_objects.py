"""Raw objects as the API server gives them, with who owns what, for tests of changes."""

from __future__ import annotations

from typing import Any

from tierdeck.changes.plan import FieldEdit, Json, Write
from tierdeck.deployed import ObjectRef

CONTAINER = ("spec", "template", "spec", "containers", "[name=vllm]")
ARGS = (*CONTAINER, "args")
SIZE = (*CONTAINER, "env", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]", "value")
REF = ObjectRef("Deployment", "llm", "chat")
BEFORE = ["--model", "an/llm", "--gpu-memory-utilization", "0.9"]
AFTER = ["--model", "an/llm", "--gpu-memory-utilization", "0.8"]


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: str) -> dict[str, Any]:
    """One of managedFields: who wrote which fields."""
    time = more.pop("time", "2026-11-30T06:00:00Z")
    return {"manager": manager, "operation": operation, "time": time, "fieldsV1": fields, **more}


def of_container(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields of the container `vllm`."""
    key = 'k:{"name":"vllm"}'
    return {"f:spec": {"f:template": {"f:spec": {"f:containers": {key: {".": {}, "f:name": {}, **fields}}}}}}


def deployment(*entries: dict[str, Any], env: list[dict[str, str]] | None = None, **metadata: Any) -> dict[str, Any]:
    """A Deployment of engines."""
    container: dict[str, Any] = {"name": "vllm", "image": "vllm/vllm-openai:v0.32.0", "args": BEFORE}
    if env is not None:
        container["env"] = env
    meta = {"name": "chat", "namespace": "llm", "uid": "u-1", "resourceVersion": "7", "managedFields": list(entries)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta | metadata,
        "spec": {"replicas": 2, "template": {"spec": {"containers": [container, {"name": "sidecar"}]}}},
    }


def write(*edits: FieldEdit) -> Write:
    """A write of that Deployment."""
    return Write(REF, "/apis/apps/v1/namespaces/llm/deployments/chat", "apps/v1", edits)


def args(before: Json = None, after: Json = None) -> FieldEdit:
    return FieldEdit(ARGS, BEFORE if before is None else before, AFTER if after is None else after)
