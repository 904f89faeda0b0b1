"""Endpoints that opted in to L2: what counts as configured, and which running pods lack it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from controller.backends.hyperpod import HYPERPOD
from controller.injector.wired import Wired, wired
from controller.objects import Objects
from controller.reading.configs import Configs
from controller.reading.opted_in import policy_of
from controller.reading.origin import Origin
from controller.resources import DEPLOYMENTS, ENDPOINT_CONFIGS
from tests.support.json_patch import patched
from tests.support.manifests import documents, objects_of
from tierdeck.deployed import Deployed, ObjectRef
from tierdeck.l2.file import L2File, parse_l2
from tierdeck.l2.policy import L2Policy

FILE = parse_l2("{endpoints: {inference/chat: {claim: curvine-pvc}}}", "l2.yaml")


def cluster(*, is_wired: bool, file: L2File = FILE) -> Objects:
    """HyperPod's example beside Curvine's, whose claim lies in the endpoint's namespace."""
    found = copy.deepcopy([*documents("hyperpod"), *documents("curvine")])
    for one in found:
        if one["kind"] == "PersistentVolumeClaim":
            one["metadata"]["namespace"] = "inference"
    objects = replace(objects_of(found), l2=file)
    if not is_wired:
        return objects
    pods = [one for one in found if one["kind"] == "Pod" and one["metadata"]["namespace"] == "inference"]
    others = [one for one in found if one not in pods]
    return replace(objects_of([*others, *(with_l2(objects, one) for one in pods)]), l2=file)


def with_l2(objects: Objects, pod: dict[str, Any]) -> dict[str, Any]:
    """The pod as the webhook makes it; one that is no engine's as it is."""
    if pod["metadata"]["labels"].get("app") != "chat":
        return pod
    config = objects.get(ENDPOINT_CONFIGS, "inference", "chat")
    deployment = objects.get(DEPLOYMENTS, "inference", "chat")
    assert config is not None
    assert deployment is not None
    origin = Origin(
        (ObjectRef("Pod", "inference", pod["metadata"]["name"]), pod),
        (ObjectRef("Deployment", "inference", "chat"), deployment),
        (ObjectRef("InferenceEndpointConfig", "inference", "chat"), config),
    )
    policy = policy_of(FILE, origin.objects)
    assert isinstance(policy, L2Policy)
    found = wired(origin, Configs(objects, "inference"), policy)
    assert isinstance(found, Wired)
    return patched(pod, found.patch.operations)


def chat(objects: Objects) -> Deployed:
    (found,) = [one.deployed for one in HYPERPOD.find(objects, ())]
    return found


def test_an_endpoint_whose_pods_carry_it_does_not_drift() -> None:
    seen = chat(cluster(is_wired=True))
    assert (
        seen.configured.l2.text == "Curvine pool curvine/curvine, claim inference/curvine-pvc at /mnt/curvine/l2cache"
    )
    assert seen.configured.l2.where == "the L2 file, endpoints inference/chat"
    assert seen.effective.l2.text == seen.configured.l2.text
    assert "L2" not in seen.drift()
    assert not [one for one in seen.problems if "without the L2" in one]


def test_pods_that_slipped_by_are_named_with_the_command_that_makes_them_anew() -> None:
    seen = chat(cluster(is_wired=False))
    assert seen.drift()["L2"] == (seen.configured.l2.text, "tieredstorage")
    (said,) = [one for one in seen.problems if "without the L2" in one]
    names = sorted(pod.name for pod in seen.pods if pod.phase == "Running" and pod.workload is not None
                   and pod.workload.name == "chat")  # fmt: skip
    count = f"{len(names)} running pod{'s' if len(names) > 1 else ''}"
    assert said.startswith(f"InferenceEndpointConfig inference/chat: {count} without the L2")
    assert said.endswith(f"(kubectl --namespace inference delete pod {' '.join(names)})")


def test_a_model_that_nothing_pins_is_said() -> None:
    assert any("an/llm is unpinned (revision main)" in one for one in chat(cluster(is_wired=True)).problems)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{endpoints: {inference/chat: {}}}", "opted in to L2, but the L2 file, endpoints inference/chat: no claim"),
        ("{enabled: false, endpoints: {inference/chat: {claim: a}}}", "opted in to L2, but the L2 file says enabled"),
    ],
)
def test_a_policy_that_gives_nothing_is_said(written: str, words: str) -> None:
    seen = chat(cluster(is_wired=False, file=parse_l2(written, "l2.yaml")))
    assert any(words in one for one in seen.problems)
    assert seen.configured.l2.text == "tieredstorage"
    assert "L2" not in seen.drift()


def test_who_did_not_opt_in_is_as_before() -> None:
    seen = chat(cluster(is_wired=False, file=L2File()))
    assert seen.configured.l2.text == "tieredstorage"
    assert not [one for one in seen.problems if "opted in" in one or "unpinned" in one]
