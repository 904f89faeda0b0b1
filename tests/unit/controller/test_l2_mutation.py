"""The patch that wires a pod to L2: once, the engine only, and the same after a second time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.injector.mutation import ANNOTATION, Patch, Unfit, patch_of
from tests.support.json_patch import patched
from tierdeck.l2.identity import ModelIdentity, ModelSource
from tierdeck.l2.policy import L2Policy
from tierdeck.l2.wiring import Wiring

LLAMA = ModelIdentity(ModelSource.S3, "models/llama", "v1", pinned_by="a hand")
WIRING = Wiring(L2Policy("the L2 file, endpoints llm/chat", "curvine-pvc", min_retrieve_tokens=512), LLAMA.directory)
URL = f"fs://localhost:0/mnt/curvine/l2cache/{LLAMA.directory}/"
OPERATORS = "sagemaker-hyperpod://$(NODE_IP):9200"
FIELD = {"name": "LMCACHE_REMOTE_URL", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "url"}}}


def pod(*env: dict[str, Any], **container: Any) -> dict[str, Any]:
    engine = {"name": "chat", "image": "vllm", **({"env": list(env)} if env else {}), **container}
    side = {"name": "proxy", "image": "nginx", "env": [{"name": "LMCACHE_REMOTE_URL", "value": "left alone"}]}
    init = {"name": "fetch", "image": "fetch", "env": [{"name": "PYTHONHASHSEED", "value": "3"}]}
    return {"metadata": {"name": "chat-0"}, "spec": {"initContainers": [init], "containers": [side, engine]}}


def wired(before: dict[str, Any], wiring: Wiring = WIRING) -> dict[str, Any]:
    patch = patch_of(before, "chat", wiring, LLAMA)
    assert isinstance(patch, Patch), patch
    return patched(before, patch.operations)


def values(found: dict[str, Any], name: str) -> list[Any]:
    return [
        one.get("value", one.get("valueFrom")) for one in found["spec"]["containers"][1]["env"] if one["name"] == name
    ]


def test_a_pod_with_the_operators_variables_gets_ours_and_keeps_the_rest() -> None:
    host = {"name": "NODE_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    before = pod(host, {"name": "LMCACHE_REMOTE_URL", "value": OPERATORS}, {"name": "PYTHONHASHSEED", "value": "7"})
    after = wired(before)
    assert after["spec"]["containers"][1]["env"] == [
        host,
        {"name": "LMCACHE_REMOTE_URL", "value": URL},
        {"name": "PYTHONHASHSEED", "value": "7"},
        {"name": "LMCACHE_REMOTE_SERDE", "value": "naive"},
        {"name": "LMCACHE_MIN_RETRIEVE_TOKENS", "value": "512"},
    ]
    assert after["spec"]["volumes"] == [{"name": "tierdeck-l2", "persistentVolumeClaim": {"claimName": "curvine-pvc"}}]
    assert after["spec"]["containers"][1]["volumeMounts"] == [
        {"name": "tierdeck-l2", "mountPath": "/mnt/curvine/l2cache"}
    ]
    assert after["spec"]["containers"][0] == before["spec"]["containers"][0]
    assert after["spec"]["initContainers"] == before["spec"]["initContainers"]


@pytest.mark.parametrize(
    "env",
    [
        [],
        [{"name": "LMCACHE_REMOTE_URL", "value": "one"}, {"name": "LMCACHE_REMOTE_URL", "value": "two"}],
        [FIELD],
        [{"name": "LMCACHE_REMOTE_URL", "value": URL}, FIELD],
        [{"name": "LMCACHE_REMOTE_URL"}],
    ],
)
def test_the_address_is_set_exactly_once(env: list[dict[str, Any]]) -> None:
    after = wired(pod(*env))
    assert values(after, "LMCACHE_REMOTE_URL") == [URL]
    assert values(after, "PYTHONHASHSEED") == ["0"]


def test_the_annotation_says_by_whom_what_was_done_and_for_which_model() -> None:
    noted = json.loads(wired(pod(FIELD, FIELD))["metadata"]["annotations"][ANNOTATION])
    assert noted["by"] == "the L2 file, endpoints llm/chat"
    assert noted["url"] == URL
    assert noted["identity"]["model"] == "models/llama"
    assert noted["did"] == [
        "LMCACHE_REMOTE_URL replaced, 2 entries made one",
        "LMCACHE_REMOTE_SERDE added",
        "PYTHONHASHSEED added",
        "LMCACHE_MIN_RETRIEVE_TOKENS added",
        "mount /mnt/curvine/l2cache",
        "volume tierdeck-l2: claim curvine-pvc",
    ]
    assert "warnings" not in noted


def test_annotations_that_are_there_stay() -> None:
    before = pod()
    before["metadata"]["annotations"] = {"a/b": "c"}
    assert wired(before)["metadata"]["annotations"].keys() == {"a/b", ANNOTATION}


def test_a_volume_and_a_mount_of_a_patch_by_hand_are_taken() -> None:
    before = pod(volumeMounts=[{"name": "curvine-cache", "mountPath": "/mnt/curvine/l2cache/"}])
    before["spec"]["volumes"] = [{"name": "curvine-cache", "persistentVolumeClaim": {"claimName": "curvine-pvc"}}]
    after = wired(before)
    assert after["spec"]["volumes"] == before["spec"]["volumes"]
    assert after["spec"]["containers"][1]["volumeMounts"] == before["spec"]["containers"][1]["volumeMounts"]
    assert values(after, "LMCACHE_REMOTE_URL") == [URL]


@pytest.mark.parametrize(
    ("volumes", "mounts", "words"),
    [
        ([{"name": "tierdeck-l2", "emptyDir": {}}], [], "a volume tierdeck-l2 that is not claim curvine-pvc"),
        ([], [{"name": "models", "mountPath": "/mnt/curvine/l2cache"}], "models is mounted at /mnt/curvine/l2cache"),
        ([], [{"name": "m", "mountPath": "/mnt/curvine/x/../l2cache"}], "m is mounted at /mnt/curvine/l2cache"),
        (
            [{"name": "c", "persistentVolumeClaim": {"claimName": "curvine-pvc", "readOnly": True}}],
            [],
            "read-only",
        ),
        (
            [{"name": "c", "persistentVolumeClaim": {"claimName": "curvine-pvc"}}],
            [{"name": "c", "mountPath": "/mnt/curvine/l2cache", "subPath": "a"}],
            "read-only or of a part",
        ),
    ],
)
def test_a_pod_that_states_something_else_there_is_left_alone(
    volumes: list[dict[str, Any]], mounts: list[dict[str, Any]], words: str
) -> None:
    before = pod(volumeMounts=mounts)
    before["spec"]["volumes"] = volumes
    found = patch_of(before, "chat", WIRING, LLAMA)
    assert isinstance(found, Unfit)
    assert words in found.reason


@pytest.mark.parametrize(
    "device", [{"name": "b", "devicePath": "/mnt/curvine/l2cache"}, {"name": "c", "devicePath": "/dev/xvda"}]
)
def test_a_device_at_the_path_or_of_the_claim_is_left_alone(device: dict[str, str]) -> None:
    # an API server refuses a container that has one path, or one volume, both as a device and as a mount
    before = pod(volumeDevices=[device])
    before["spec"]["volumes"] = [{"name": "c", "persistentVolumeClaim": {"claimName": "curvine-pvc"}}]
    found = patch_of(before, "chat", WIRING, LLAMA)
    assert found == Unfit(f"its volume {device['name']} is a device of its engine, at {device['devicePath']}")


def size_of(found: dict[str, Any]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in found["metadata"]["annotations"].items())


@pytest.mark.parametrize(
    ("free", "kept"),
    [
        (5000, ["by", "container", "claim", "url", "identity", "did"]),
        (400, ["by", "url", "is_short"]),
        (100, None),
        (0, None),
    ],
)
def test_annotations_never_grow_beyond_what_an_api_server_takes(free: int, kept: list[str] | None) -> None:
    before = pod()
    before["metadata"]["annotations"] = {"ä": "x" * (262144 - 2 - free), ANNOTATION: ""}  # ä has two bytes
    after = wired(before)
    noted = after["metadata"]["annotations"].get(ANNOTATION)
    assert (list(json.loads(noted)) if noted is not None else None) == kept
    assert size_of(after) <= 262144
    assert values(after, "LMCACHE_REMOTE_URL") == [URL]
    again = patch_of(after, "chat", WIRING, LLAMA)
    assert isinstance(again, Patch)
    assert again.operations == ()


def test_a_second_engine_keeps_what_it_has_and_that_is_said() -> None:
    before = pod()
    other = {"name": "second", "image": "vllm/vllm-openai:v0.11", "args": ["--model", "/opt/ml/model2"]}
    before["spec"]["containers"].append(other)
    words = "only its engine chat is wired to L2, and second keeps the L2 that it states"
    found = patch_of(before, "chat", WIRING, LLAMA)
    assert isinstance(found, Patch)
    assert found.warnings == (words,)
    after = patched(before, found.operations)
    assert after["spec"]["containers"][2] == other
    assert json.loads(after["metadata"]["annotations"][ANNOTATION])["warnings"] == [words]
    again = patch_of(after, "chat", WIRING, LLAMA)
    assert again == Patch(warnings=(words,))


def test_a_pod_without_the_engine_is_left_alone() -> None:
    assert patch_of(pod(), "other", WIRING, LLAMA) == Unfit("it has 0 containers 'other'")


entries = st.fixed_dictionaries(
    {"name": st.sampled_from(["LMCACHE_REMOTE_URL", "LMCACHE_REMOTE_SERDE", "PYTHONHASHSEED", "NODE_IP", "A"])},
    optional={"value": st.sampled_from(["", "x", URL, "naive"])},
)
claims = st.sampled_from([{"persistentVolumeClaim": {"claimName": "curvine-pvc"}}, {"emptyDir": {}}])


@settings(max_examples=60, deadline=None)
@given(st.lists(entries, max_size=6), st.lists(claims, max_size=2), st.booleans())
def test_twice_is_once(env: list[dict[str, Any]], volumes: list[dict[str, Any]], has_mount: bool) -> None:
    mounts = [{"name": "v0", "mountPath": "/mnt/curvine/l2cache"}] if has_mount else []
    before = pod(*env, volumeMounts=mounts)
    before["spec"]["volumes"] = [{"name": f"v{at}", **one} for at, one in enumerate(volumes)]
    first = patch_of(before, "chat", WIRING, LLAMA)
    if isinstance(first, Unfit):
        return
    after = patched(before, first.operations)
    assert patch_of(after, "chat", WIRING, LLAMA) == Patch()
    names = [one["name"] for one in after["spec"]["containers"][1]["env"]]
    assert names.count("LMCACHE_REMOTE_URL") == names.count("LMCACHE_REMOTE_SERDE") == 1
    others = [one for one in env if one["name"] in ("NODE_IP", "A")]
    assert [one for one in after["spec"]["containers"][1]["env"] if one["name"] in ("NODE_IP", "A")] == others
    assert after["spec"]["containers"][0] == before["spec"]["containers"][0]


def test_a_pod_that_is_wired_but_says_nothing_of_it_is_annotated() -> None:
    after = wired(pod())
    del after["metadata"]["annotations"][ANNOTATION]
    found = patch_of(after, "chat", WIRING, LLAMA)
    assert isinstance(found, Patch)
    assert [step["path"] for step in found.operations] == ["/metadata/annotations/tierdeck.io~1l2-injected"]
    assert found.did == ()


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ([{"value": "random"}], "0"),
        ([{"value": ""}], "0"),
        ([{}], "0"),
        ([{"value": "7"}, {"value": "random"}], "0"),
        ([{"value": "random"}, {"value": "7"}], "7"),
    ],
)
def test_a_seed_that_is_none_is_replaced(env: list[dict[str, str]], expected: str) -> None:
    found = values(wired(pod(*({"name": "PYTHONHASHSEED", **one} for one in env))), "PYTHONHASHSEED")
    assert found[-1] == expected
