"""A pod that is made from an older state than its custom resource names gets no directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from controller.injector.freshness import Waits, is_current, staleness
from controller.objects import Raw
from controller.reading.origin import Origin
from controller.resources import DEPLOYMENTS, Resource
from tierdeck.deployed import ObjectRef


def template(image: str, pod_hash: str = "") -> dict[str, Any]:
    labels = {"app": "chat"} | ({"pod-template-hash": pod_hash} if pod_hash else {})
    return {"spec": {"template": {"metadata": {"labels": labels}, "spec": {"containers": [{"image": image}]}}}}


def config(generation: int, seen: int | None) -> dict[str, Any]:
    status = {} if seen is None else {"observedGeneration": seen}
    return {"metadata": {"generation": generation}, "status": status}


DEPLOYMENT, REVISION = template("vllm:1"), template("vllm:1", "5f")
ORIGIN = Origin(
    (ObjectRef("Pod", "llm", "chat-0"), {}),
    (ObjectRef("Deployment", "llm", "chat"), DEPLOYMENT),
    (ObjectRef("InferenceEndpointConfig", "llm", "chat"), config(2, 2)),
    revision=(ObjectRef("ReplicaSet", "llm", "chat-5f"), REVISION),
)


def stale(
    *configs: dict[str, Any], deployment: Raw = DEPLOYMENT, origin: Origin = ORIGIN, most: int = 1
) -> tuple[str, int]:
    """What is said after so many pauses; of the custom resource's states the last one stays."""
    states: Iterator[dict[str, Any]] = iter(configs)
    last = [config(2, 2)]
    pauses: list[float] = []

    def get(resource: Resource, namespace: str, name: str) -> Raw:
        if resource is DEPLOYMENTS:
            return deployment
        last[0] = next(states, last[0])
        return last[0]

    return staleness(origin, get, Waits(most, pauses.append)), len(pauses)


def test_a_pod_of_the_present_state_is_not_stale() -> None:
    assert stale() == ("", 0)
    assert stale(config(2, None)) == ("", 0), "an operator that reports nothing can't be waited for"


def test_an_operator_that_reports_a_moment_later_is_waited_for() -> None:
    assert stale(config(2, 1), config(2, 1), config(2, 2)) == ("", 2)


def test_one_that_does_not_is_said() -> None:
    said, pauses = stale(config(2, 1))
    assert "was edited, and its operator has not taken that up yet" in said
    assert pauses == 10  # 2 s in steps of 0.2


def test_where_as_many_wait_as_may_one_more_is_answered_at_once() -> None:
    said, pauses = stale(config(2, 1), config(2, 2), most=0)
    assert "was edited, and its operator has not taken that up yet" in said
    assert pauses == 0
    waits = Waits(1, lambda _: None)
    for _ in range(3):  # each gives its turn back
        assert staleness(ORIGIN, lambda *_: config(2, 1), waits) != ""
    seen = iter([config(2, 1), config(2, 2)])
    assert waits.out(lambda: "" if next(seen) == config(2, 2) else "not yet") == ""


def test_an_edit_between_the_reads_is_said() -> None:
    assert "was edited just now" in stale(config(2, 2), config(3, 3))[0]
    assert "was edited just now" in stale(config(3, 3))[0]


def test_a_pod_of_an_older_revision_is_said() -> None:
    assert stale(deployment=template("vllm:2")) == ("it is of an older revision than Deployment llm/chat is at", 0)
    assert not is_current(REVISION, {})


@pytest.mark.parametrize(("own", "words"), [("a", ""), ("b", "it is of an older revision"), ("", "")])
def test_a_stateful_sets_pod_tells_its_revision(own: str, words: str) -> None:
    labels = {"controller-revision-hash": own} if own else {}
    origin = Origin(
        (ObjectRef("Pod", "llm", "chat-0"), {"metadata": {"labels": labels}}),
        (ObjectRef("StatefulSet", "llm", "chat"), {"status": {"updateRevision": "a"}}),
    )
    said, _ = stale(origin=origin)
    assert said.startswith(words)
    assert bool(said) is bool(words)
