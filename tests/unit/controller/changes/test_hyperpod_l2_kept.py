"""A write to a custom resource that would lose L2 is refused, unless the injector is proved to put it back."""

from __future__ import annotations

from typing import Any

import pytest

from controller.changes.planners.hyperpod import HYPERPOD
from tests.support.hyperpod_planning import (
    SLICES,
    WEBHOOKS,
    chat,
    everywhere,
    hyperpod,
    injector,
    l2_by_hand,
    l2_by_injector,
    ready_slice,
    source,
    webhook,
)
from tests.support.planning import Planned, plan, refusals
from tierdeck.changes.plan import Refusal
from tierdeck.changes.wish import Wish
from tierdeck.l2.file import parse_l2

WISH = Wish(strategy="roundrobin")
FILE = parse_l2("{endpoints: {inference/chat: {claim: curvine-pvc}}}", "l2.yaml")


def lost(made: Planned) -> Refusal:
    found = refusals(HYPERPOD, chat(made), WISH)
    assert list(found) == ["l2_would_be_lost"]
    return found["l2_would_be_lost"]


def test_what_the_operator_renders_by_itself_is_not_lost() -> None:
    assert plan(HYPERPOD, chat(hyperpod()), WISH)


def test_a_patch_by_hand_would_be_dropped_by_the_next_rendering() -> None:
    made = hyperpod()
    l2_by_hand(made)
    reason = lost(made).reason
    assert "carry LMCACHE_REMOTE_URL (fs:…), a mount for L2 (Curvine pool curvine/curvine, claim " in reason
    assert reason.endswith("without it, and it did not opt in to the injector.")


def test_sizes_are_refused_for_the_same_reason() -> None:
    made = hyperpod()
    l2_by_hand(made)
    assert list(refusals(HYPERPOD, chat(made), Wish(l1_bytes=96 << 30))) == ["l2_would_be_lost"]


def test_an_address_with_a_password_is_not_told() -> None:
    made = hyperpod()
    for engine in everywhere(made):
        for one in engine["env"]:
            if one["name"] == "LMCACHE_REMOTE_URL":
                one["value"] = "redis://user:hunter2@cache:6379"
    assert "hunter2" not in lost(made).reason


def test_an_address_that_the_object_states_itself_is_rendered_again() -> None:
    made = hyperpod()
    url = "redis://cache:6379"
    source(made)["kvCacheSpec"]["l2CacheSpec"] = {"l2CacheBackend": "redis", "l2CacheLocalUrl": url}
    for engine in everywhere(made):
        for one in engine["env"]:
            if one["name"] == "LMCACHE_REMOTE_URL":
                one["value"] = url
    assert plan(HYPERPOD, chat(made), WISH)


def test_the_injector_is_proved_by_policy_webhook_and_each_pod() -> None:
    made = hyperpod()
    l2_by_injector(made)
    assert plan(HYPERPOD, chat(made), WISH)


def test_an_injector_that_did_not_wire_the_pods_is_not_proved() -> None:
    made = hyperpod()
    l2_by_hand(made)
    injector(made, FILE)
    assert lost(made).reason.endswith("and the injector did not wire chat-5f6d-aaaaa, chat-5f6d-bbbbb.")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{enabled: false, endpoints: {inference/chat: {claim: curvine-pvc}}}", "the L2 file says enabled: false"),
        (
            "{endpoints: {inference/chat: {}}}",
            "its opting in can't be used (the L2 file, endpoints inference/chat: no ",
        ),
        ("{endpoints: {inference/chat: {claim: other}}}", "the claim inference/other of its policy is not Bound"),
        ("{endpoints: {inference/chat: {claim: curvine-pvc, opted_in: false}}}", "it did not opt in to the injector"),
    ],
)
def test_a_policy_that_would_not_give_it_now_is_a_doubt(written: str, words: str) -> None:
    made = hyperpod()
    l2_by_injector(made)
    made.l2 = parse_l2(written, "l2.yaml")
    assert words in lost(made).reason


@pytest.mark.parametrize(
    ("hooks", "slices", "words"),
    [
        ([], [ready_slice()], "no webhook l2.tierdeck.io is configured"),
        (
            [webhook(namespaceSelector={"matchLabels": {"tierdeck.io/l2-injection": "disabled"}})],
            [ready_slice()],
            "its webhook is not shown the pods of namespace inference",
        ),
        (
            [webhook(rules=[{"operations": ["UPDATE"], "resources": ["pods"]}])],
            [ready_slice()],
            "its webhook is not shown pods that are made",
        ),
        ([webhook(clientConfig={"service": {}})], [ready_slice()], "its webhook has no caBundle yet"),
        (
            [webhook()],
            [ready_slice(is_ready=False)],
            "no pod of its webhook's Service tierdeck/tierdeck-l2 is ready",
        ),
    ],
)
def test_a_webhook_that_would_not_be_asked_is_a_doubt(hooks: list[Any], slices: list[Any], words: str) -> None:
    made = hyperpod()
    l2_by_injector(made)
    made.lists[WEBHOOKS], made.lists[SLICES] = hooks, slices
    assert words in lost(made).reason


def test_a_webhook_that_may_not_be_read_is_a_doubt() -> None:
    made = hyperpod()
    l2_by_injector(made)
    made.forbidden.add(WEBHOOKS)
    assert "the injector's webhook can't be read" in lost(made).reason


def test_no_running_pod_is_no_evidence() -> None:
    made = hyperpod()
    l2_by_hand(made)
    for pod in made.pods("chat"):
        pod["status"]["phase"] = "Pending"
    injector(made, FILE)
    assert lost(made).reason.endswith("and no pod runs that shows that it works.")
