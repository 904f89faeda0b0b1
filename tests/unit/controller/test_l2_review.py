"""AdmissionReviews: whatever comes or goes wrong, the pod is admitted, and what was withheld is told once."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from controller.injector.decision import Decision, Injected, NotOurs, Sight, Undecided, Withheld, decide
from controller.injector.freshness import MOST_WAITING, Waits
from controller.injector.review import Reviewer
from controller.injector.server import app_of
from controller.injector.telling import event_of, key_of, owner_of
from controller.objects import Raw
from controller.resources import DEPLOYMENTS, ENDPOINT_CONFIGS, REPLICA_SETS, Resource
from tests.support.json_patch import patched
from tests.support.manifests import objects_of
from tests.unit.controller.test_l2_safety import BOOK, CLAIM, CLASS, DRIVER, NOW, fuse, node
from tierdeck.errors import TierdeckError
from tierdeck.events import EventKind
from tierdeck.l2.file import parse_l2

FILE = "{endpoints: {llm/chat: {claim: curvine-pvc}}}"
GROUP = "inference.sagemaker.aws.amazon.com/v1"
OWNERS: Mapping[tuple[str, str], dict[str, Any]] = {
    (REPLICA_SETS.kind, "chat-5f"): {
        "metadata": {
            "name": "chat-5f",
            "uid": "rs",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat", "uid": "d"}],
        }
    },
    (DEPLOYMENTS.kind, "chat"): {
        "metadata": {
            "name": "chat",
            "uid": "d",
            "ownerReferences": [{"apiVersion": GROUP, "kind": "InferenceEndpointConfig", "name": "chat", "uid": "c"}],
        }
    },
    (ENDPOINT_CONFIGS.kind, "chat"): {
        "metadata": {"name": "chat", "uid": "c"},
        "spec": {
            "modelSourceConfig": {
                "modelSourceType": "s3",
                "s3Storage": {"bucketName": "weights"},
                "modelLocation": "llama/v1",
            }
        },
    },
}
POD: dict[str, Any] = {
    "metadata": {
        "generateName": "chat-5f-",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "chat-5f", "uid": "rs"}],
    },
    "spec": {"containers": [{"name": "chat", "image": "own:1", "args": ["--model", "/opt/ml/model"]}]},
}


def look_up(resource: Resource, namespace: str, name: str) -> Raw | None:
    assert namespace == "llm"
    return OWNERS.get((resource.kind, name))


def decided(pod: Raw = POD, file: str = FILE, *, phase: str = "Bound") -> Decision:
    claim = {**CLAIM, "status": {"phase": phase}}
    objects = objects_of([CLASS, claim, node("one"), DRIVER, fuse("a", "one")])
    return decide(Sight(objects, BOOK, parse_l2(file, "l2.yaml"), look_up), pod, "llm", NOW)


def review(pod: Any = POD, **request: Any) -> bytes:
    asked = {"uid": "u-1", "operation": "CREATE", "kind": {"kind": "Pod"}, "namespace": "llm", "object": pod, **request}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()


class Told:
    """What was told, and a reviewer that tells it here."""

    def __init__(self, decision: Decision | BaseException) -> None:
        self.told: list[Withheld | Undecided] = []
        self._decision = decision
        self.reviewer = Reviewer(self._decide, self.told.append)

    def _decide(self, _pod: Raw, _namespace: str) -> Decision:
        if isinstance(self._decision, BaseException):
            raise self._decision
        return self._decision

    def answer(self, body: bytes) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.reviewer.answer(body))
        assert found["response"]["uid"] == "u-1"
        assert found["response"]["allowed"] is True
        response: dict[str, Any] = found["response"]
        return response


def test_a_pod_of_hyperpods_is_wired_for_the_model_of_its_custom_resource() -> None:
    found = decided()
    assert isinstance(found, Injected)
    response = Told(found).answer(review())
    after = patched(POD, json.loads(base64.b64decode(response["patch"])))
    (address,) = [one["value"] for one in after["spec"]["containers"][0]["env"] if one["name"] == "LMCACHE_REMOTE_URL"]
    assert "weights-llama-v1-" in address
    assert "warnings" not in response


def test_a_pod_that_has_it_already_is_left_as_it_is() -> None:
    first = decided()
    assert isinstance(first, Injected)
    again = decided(patched(POD, first.wired.patch.operations))
    assert "patch" not in Told(again).answer(review())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (decided(phase="Pending"), "claim llm/curvine-pvc is Pending, not Bound"),
        (decided(file="{enabled: false, endpoints: {llm/chat: {claim: curvine-pvc}}}"), "enabled: false"),
        (decided(file="{endpoints: {llm/chat: {}}}"), "no claim is named"),
        (
            decided({**POD, "spec": {"containers": [{"name": "side", "image": "nginx"}]}}),
            "no container is an engine",
        ),
    ],
)
def test_what_is_withheld_is_a_warning_and_told_unless_it_is_a_dry_run(found: Decision, words: str) -> None:
    told = Told(found)
    (warning,) = told.answer(review(dryRun=True))["warnings"]
    assert words in warning
    assert told.told == []
    assert "patch" not in told.answer(review())
    (withheld,) = told.told
    assert words in withheld.reason


def test_who_did_not_opt_in_hears_nothing() -> None:
    assert decided(file="{}") == NotOurs()
    assert Told(NotOurs()).answer(review()).keys() == {"uid", "allowed"}
    assert Told(AssertionError("not asked")).answer(review(operation="UPDATE")).keys() == {"uid", "allowed"}


@pytest.mark.parametrize("error", [TierdeckError("the API is away"), KeyError("a fault of ours")])
def test_an_error_inside_admits_the_pod_and_says_so(error: Exception) -> None:
    (warning,) = Told(error).answer(review())["warnings"]
    assert warning.startswith("Tierdeck injects no L2: ")


@pytest.mark.parametrize("pod", [None, [], {"spec": None}, {"metadata": {"labels": []}, "spec": {"containers": {}}}])
def test_a_pod_that_makes_no_sense_is_admitted(pod: Any) -> None:
    reviewer = Reviewer(lambda given, _: decided(given), lambda _: None)
    assert json.loads(reviewer.answer(review(pod)))["response"]["allowed"] is True


def test_an_owner_that_is_gone_or_another_is_said() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "chat-5f", "uid": "older"}]
    pod = {
        "metadata": {"name": "chat-0", "ownerReferences": owners, "labels": {"tierdeck.io/l2": "true"}},
    }
    found = decided(pod, "{defaults: {claim: curvine-pvc}}")
    assert isinstance(found, Withheld)
    assert found.reason == "ReplicaSet llm/chat-5f, which it comes from, is not there"


def test_an_event_is_about_the_workload_and_the_same_for_both_replicas() -> None:
    found = decided(phase="Pending")
    assert isinstance(found, Withheld)
    owner = owner_of(found)
    assert owner is not None
    assert str(owner[0]) == "Deployment llm/chat"
    event = event_of("east", found, NOW)
    assert (event.kind, event.endpoint, event.subject) == (EventKind.L2_WITHHELD, "llm/chat", "Deployment llm/chat")
    assert event.words == "L2 was not injected: claim llm/curvine-pvc is Pending, not Bound"
    start = NOW // 600 * 600
    seconds = [Withheld(found.origin, f"last read {age} s ago") for age in (50, 60)]
    assert key_of(seconds[0], start) == key_of(seconds[1], start + 599)
    assert key_of(seconds[0], start) != key_of(seconds[1], start + 600)


def test_a_sidecar_of_the_engines_image_is_not_taken_for_the_engine() -> None:
    loader = {"name": "loader", "image": "vllm/vllm-openai:v0.11", "args": ["--download"], "restartPolicy": "Always"}
    found = decided({**POD, "spec": {**POD["spec"], "initContainers": [loader]}})
    assert isinstance(found, Injected)
    (warning,) = Told(found).answer(review())["warnings"]
    assert warning == "Tierdeck: only its engine chat is wired to L2, and loader keeps the L2 that it states"


async def test_pods_that_wait_for_an_operator_leave_threads_for_others() -> None:
    # as many wait as may: one more, and one of another endpoint, are answered while they do
    waiting, ended = threading.Barrier(MOST_WAITING + 1), threading.Event()

    def pause(_: float) -> None:
        waiting.wait(timeout=60)
        assert ended.wait(timeout=60)

    waits = Waits(pause=pause)

    def slow(pod: Raw, namespace: str) -> Decision:
        if namespace == "edited":
            edited = iter(["its operator has not taken that up"])
            waits.out(lambda: next(edited, ""))
        return NotOurs()

    app = app_of(Reviewer(slow, lambda _: None), lambda: True, answer_seconds=60)
    async with TestClient(TestServer(app)) as client:

        async def ask(namespace: str) -> dict[str, Any]:
            answer = await client.post("/mutate", data=review(namespace=namespace))
            response: dict[str, Any] = json.loads(await answer.text())["response"]
            return response

        edited = [asyncio.create_task(ask("edited")) for _ in range(MOST_WAITING)]
        try:
            await asyncio.to_thread(waiting.wait, 60)
            for _ in range(2):
                assert "warnings" not in await ask("healthy")
                assert "warnings" not in await ask("edited")
            assert not any(one.done() for one in edited)
        finally:
            ended.set()
        assert all("warnings" not in response for response in await asyncio.gather(*edited))


@pytest.mark.parametrize("error", [TierdeckError("the API is away"), KeyError("a fault of ours")])
def test_what_could_not_be_decided_is_told_unless_it_is_a_dry_run(error: Exception) -> None:
    told = Told(error)
    told.answer(review(dryRun=True))
    assert told.told == []
    told.answer(review())
    (lost,) = told.told
    assert isinstance(lost, Undecided)
    assert (lost.pod, lost.namespace) == (POD, "llm")
    assert str(error) in lost.reason


def test_a_fault_while_telling_changes_no_answer() -> None:
    def broken(_: Withheld | Undecided) -> None:
        raise RuntimeError("a fault of ours")

    def faulty(_pod: Raw, _namespace: str) -> Decision:
        raise KeyError("a fault of ours")

    def careful(_pod: Raw, _namespace: str) -> Decision:
        return decided(phase="Pending")

    for decide_ in (careful, faulty):
        response = json.loads(Reviewer(decide_, broken).answer(review()))["response"]
        assert response["allowed"] is True
        assert "Tierdeck injects no L2" in response["warnings"][0]


async def test_a_review_that_takes_too_long_is_answered_all_the_same() -> None:
    def slow(_pod: Raw, _namespace: str) -> Decision:
        time.sleep(0.5)
        return NotOurs()

    told: list[Withheld | Undecided] = []
    app: web.Application = app_of(Reviewer(slow, told.append), lambda: False, answer_seconds=0.05)
    async with TestClient(TestServer(app)) as client:
        answer = await client.post("/mutate", data=review())
        response = json.loads(await answer.text())["response"]
        assert (response["uid"], response["allowed"]) == ("u-1", True)
        assert "not decided within" in response["warnings"][0]
        assert told == [Undecided(POD, "llm", "it was not decided within 0.05 s")]
        assert (await client.post("/mutate", data=b"{}")).status == 400
        assert (await client.get("/readyz")).status == 503
        await asyncio.sleep(0.5)
