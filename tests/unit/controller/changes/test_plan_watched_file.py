"""A router that watches a file is switched by its ConfigMap, where that has just that effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.plain_looks import (
    Documents,
    applied,
    changed,
    codes,
    container,
    edits,
    look_at,
    pick,
    planned,
    refused,
    turned,
)
from tierdeck.changes.plan import Refusal
from tierdeck.changes.wish import Wish

FIELD = "ConfigMap stack/routing data.dynamic.json"
FILE = '{"service_discovery": "k8s", "routing_logic": "session", "session_key": "x-user"}'
SAFE = ["roundrobin", "session", "prefixaware"]


def with_file(text: str) -> Documents:
    def change(found: Documents) -> None:
        pick(found, "ConfigMap", "routing")["data"]["dynamic.json"] = text

    return changed("production-stack-helm", change)


@pytest.mark.parametrize("now", SAFE)
@pytest.mark.parametrize("wished", SAFE)
def test_among_three_strategies_the_file_alone_changes_and_nothing_restarts(now: str, wished: str) -> None:
    found = with_file(FILE.replace('"session",', f'"{now}",'))
    if now == wished:
        assert codes(refused(found, Wish(strategy=wished))) == ["nothing_to_do"]
        return
    made = planned(found, Wish(strategy=wished))
    assert edits(made) == {FIELD: (FILE.replace('"session",', f'"{now}",'), FILE.replace('"session",', f'"{wished}",'))}
    assert (made.restarts, made.loses, made.carries, made.strategy) == ((), (), (), wished)
    assert made.writes[0].address == "/api/v1/namespaces/stack/configmaps/routing"
    switched = applied(found, made)
    assert look_at(switched).deployed.configured.strategy.value == wished
    assert applied(switched, turned(made)) == found


@pytest.mark.parametrize(("now", "wished"), [("kvaware", "roundrobin"), ("roundrobin", "kvaware")])
def test_never_to_or_from_kvaware(now: str, wished: str) -> None:
    (refusal,) = refused(with_file(FILE.replace('"session",', f'"{now}",')), Wish(strategy=wished))
    assert (refusal.code, "without a controller's port" in refusal.reason) == ("not_possible", True)


REFUSED: dict[str, tuple[str, str]] = {
    "an unknown key": (FILE.replace("{", '{"kv_aware_threshold": 1, '), "has kv_aware_threshold"),
    "a missing key": ('{"routing_logic": "session"}', "lacks service_discovery"),
    "no strategy": ('{"service_discovery": "k8s"}', "lacks routing_logic"),
    "no JSON": ("{", "can't be read"),
    "no object": ("[]", "can't be read"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_the_router_ignores_is_not_written(text: str, words: str) -> None:
    (refusal,) = refused(with_file(text), Wish(strategy="roundrobin"))
    assert (refusal.code, words in refusal.reason) == ("silent_no_op", True), refusal


def test_a_file_with_a_secret_in_the_clear_is_not_kept_in_a_change() -> None:
    found = with_file(FILE.replace("{", '{"static_backends": "http://user:canary-8f3a@chat:8000", ', 1))
    (refusal,) = refused(found, Wish(strategy="roundrobin"))
    assert (refusal.code, "secret in the clear" in refusal.reason) == ("not_possible", True)
    assert "canary" not in refusal.reason


def test_session_needs_its_key_in_the_file() -> None:
    found = with_file('{"service_discovery": "k8s", "routing_logic": "roundrobin"}')
    assert codes(refused(found, Wish(strategy="session"))) == ["session_key_missing"]


def edited(change: Callable[[dict[str, Any]], object]) -> tuple[Refusal, ...]:
    def both(found: Documents) -> None:
        change(pick(found, "Deployment", "stack-deployment-router")["spec"]["template"]["spec"])

    return refused(changed("production-stack-helm", both), Wish(strategy="roundrobin"))


def test_a_file_by_sub_path_never_changes_in_the_pod() -> None:
    def sub_path(spec: dict[str, Any]) -> None:
        spec["containers"][0]["volumeMounts"] = [
            {"name": "dynamic", "mountPath": "/etc/router/dynamic.json", "subPath": "dynamic.json"}
        ]

    (refusal,) = edited(sub_path)
    assert (refusal.code, "by subPath" in refusal.reason) == ("silent_no_op", True)


def test_a_file_from_elsewhere_is_not_ours_to_write() -> None:
    (refusal,) = edited(lambda spec: spec.update(volumes=[{"name": "dynamic", "emptyDir": {}}]))
    assert (refusal.code, "is on a volume that is no ConfigMap" in refusal.reason) == ("not_possible", True)


def test_an_immutable_config_map_is_refused() -> None:
    def freeze(found: Documents) -> None:
        pick(found, "ConfigMap", "routing")["immutable"] = True

    (refusal,) = refused(changed("production-stack-helm", freeze), Wish(strategy="roundrobin"))
    assert (refusal.code, "immutable" in refusal.reason) == ("not_possible", True)


def test_yaml_keeps_its_comments() -> None:
    text = "# ours\nservice_discovery: k8s\nrouting_logic: 'session'  # for now\nsession_key: x-user\n"

    def change(found: Documents) -> None:
        pick(found, "ConfigMap", "routing")["data"] = {"dynamic.yaml": text}
        args = container(found, "stack-deployment-router")["args"]
        args[-2:] = ["--dynamic-config-yaml", "/etc/router/dynamic.yaml"]

    made = planned(changed("production-stack-helm", change), Wish(strategy="prefixaware"))
    after = text.replace("'session'", "prefixaware")
    assert edits(made) == {"ConfigMap stack/routing data.dynamic.yaml": (text, after)}


def test_a_text_that_can_not_be_changed_in_place_is_written_anew() -> None:
    text = '{"callbacks": "\\"routing_logic\\": \\"x\\"", "service_discovery": "k8s", "routing_\\u006cogic": "session"}'
    ((_, after),) = edits(planned(with_file(text), Wish(strategy="roundrobin"))).values()
    assert json.loads(str(after)) == {**json.loads(text), "routing_logic": "roundrobin"}


def test_what_a_switch_resets_is_said() -> None:
    def more(found: Documents) -> None:
        container(found, "stack-deployment-router")["args"] += ["--prefix-min-match-length", "128"]

    made = planned(changed("production-stack-helm", more), Wish(strategy="prefixaware"))
    told = " ".join(made.warnings)
    for words in ("within 10 s", "starts empty", "by roundrobin from its arguments", "--prefix-min-match-length of",
                  "lacks k8s_port, k8s_namespace, k8s_label_selector"):  # fmt: skip
        assert words in told
