"""Who opted in to L2: a pod, what it comes from, or the file; the nearest to the pod wins."""

from __future__ import annotations

from typing import Any

import pytest

from controller.reading.lineage import Found
from controller.reading.opted_in import Misstated, policy_of
from tierdeck.deployed import ObjectRef
from tierdeck.l2.file import L2File, parse_l2
from tierdeck.l2.policy import L2Policy

FILE = parse_l2(
    "{defaults: {min_retrieve_tokens: 256}, endpoints: {llm/chat: {claim: curvine-pvc}, llm/off: {opted_in: false}}}",
    "l2.yaml",
)


def one(kind: str, name: str, labels: dict[str, str] | None = None, **noted: str) -> Found:
    annotations = {f"tierdeck.io/{key.replace('_', '-')}": value for key, value in noted.items()}
    metadata: dict[str, Any] = {"name": name, "labels": labels or {}, "annotations": annotations}
    return ObjectRef(kind, "llm", name), {"metadata": metadata}


POD, DEPLOYMENT = one("Pod", "chat-0"), one("Deployment", "chat")
CONFIG = one("InferenceEndpointConfig", "chat")


def test_an_endpoint_in_the_file_opted_in_without_any_label() -> None:
    found = policy_of(FILE, [POD, DEPLOYMENT, CONFIG])
    assert found == L2Policy("the L2 file, endpoints llm/chat", "curvine-pvc", min_retrieve_tokens=256)


def test_nobody_else_did() -> None:
    assert policy_of(FILE, [one("Pod", "draft-0"), one("Deployment", "draft")]) is None
    assert policy_of(FILE, [one("Pod", "off-0"), one("Deployment", "off")]) is None
    assert policy_of(L2File(), [POD, DEPLOYMENT]) is None


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_label_or_an_annotation_anywhere_from_pod_to_source_is_enough(at: int) -> None:
    objects = [POD, DEPLOYMENT, CONFIG]
    objects[at] = one(objects[at][0].kind, "chat", l2="true", l2_claim="own")
    found = policy_of(L2File(), objects)
    assert isinstance(found, L2Policy)
    assert (found.claim, found.origin) == ("own", f"tierdeck.io/l2 of {objects[at][0]}")
    objects[at] = one(objects[at][0].kind, "chat", {"tierdeck.io/l2": "on"}, l2_claim="own")
    assert isinstance(policy_of(L2File(), objects), L2Policy)


def test_the_nearest_to_the_pod_wins() -> None:
    config = one("InferenceEndpointConfig", "chat", l2_claim="far", l2_mount_path="/mnt/far", model_revision="v2")
    found = policy_of(FILE, [one("Pod", "chat-0", l2_claim="near"), DEPLOYMENT, config])
    assert found == L2Policy("annotations of Pod llm/chat-0", "near", "/mnt/far", "0", 256, False, "v2")
    assert policy_of(FILE, [one("Pod", "chat-0", l2="false"), DEPLOYMENT, config]) is None


@pytest.mark.parametrize(
    ("noted", "words"),
    [
        ({"l2": "maybe"}, "tierdeck.io/l2 is 'maybe': true or false is needed"),
        ({"l2_claim": "Not A Claim"}, "tierdeck.io/l2-claim can't be 'Not A Claim'"),
        ({"l2_mount_path": "../x"}, "tierdeck.io/l2-mount-path can't be '../x'"),
        ({"l2_min_retrieve_tokens": "many"}, "tierdeck.io/l2-min-retrieve-tokens can't be 'many'"),
    ],
)
def test_what_can_not_be_used_is_named(noted: dict[str, str], words: str) -> None:
    found = policy_of(FILE, [one("Pod", "chat-0", None, **noted), DEPLOYMENT])
    assert isinstance(found, Misstated)
    assert words in found.reason


def test_opting_in_without_a_claim_is_said() -> None:
    found = policy_of(L2File(), [one("Pod", "chat-0", l2="true")])
    assert isinstance(found, Misstated)
    assert "no claim is named (tierdeck.io/l2-claim, or `claim` in the L2 file)" in found.reason
