"""What labels say: the owner by a pod's name, roles, and relabelling in Prometheus's own words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from collectors.config import inventory_of
from collectors.prometheus.labels import Rule, Told, first_of, owner_of, relabel, role_of, template
from tierdeck.errors import UsageError
from tierdeck.fleet import Role

HASHES = "456789bcdf"
"""What a Deployment's hash is made of: decimal digits, each by its place in the safe alphabet."""


@pytest.mark.parametrize(
    ("pod", "owner"),
    [
        ("chat-7d9f8b6c5-x2x4x", "chat"),
        ("vllm-7b-instruct-6d4cf56db6-x2x4x", "vllm-7b-instruct"),
        (f"llama-3-8b-{HASHES}-zzzzz", "llama-3-8b"),
        ("llama-3-8b-0", "llama-3-8b"),
        ("llama-3-8b-12", "llama-3-8b"),
        ("lmcache-x2x4x", "lmcache"),  # of a DaemonSet
        ("chat", "chat"),
        ("vllm-server", "vllm-server"),
        ("vllm-facade-llama", "vllm-facade-llama"),  # hexadecimal by chance, but Kubernetes uses no vowels
        ("model-deadbeef-a1b2c", "model-deadbeef-a1b2c"),
        ("", ""),
    ],
)
def test_a_pods_owner_is_what_stands_before_what_kubernetes_puts_behind_it(pod: str, owner: str) -> None:
    assert owner_of(pod) == owner


def test_the_first_label_that_is_there_and_not_empty_is_taken() -> None:
    assert first_of({"a": "", "b": "2", "c": "3"}, ("a", "b", "c")) == "2"
    assert first_of({}, ("a",)) == ""


@pytest.mark.parametrize(
    ("text", "role"), [("prefill", Role.PRODUCER), ("kv_consumer", Role.CONSUMER), ("", Role.BOTH)]
)
def test_roles_go_by_vllms_words_and_by_routers(text: str, role: Role) -> None:
    assert role_of(text) is role


def test_another_word_is_no_role() -> None:
    with pytest.raises(ValueError, match="leader is no role"):
        role_of("leader")


@pytest.mark.parametrize(
    ("replacement", "found"),
    [("$1", "a"), ("${2}-$1", "b-a"), ("\\d$1", "\\da"), ("fixed", "fixed"), ("$1$1", "aa")],
)
def test_groups_stand_in_a_replacement_as_in_prometheus(replacement: str, found: str) -> None:
    match = re.fullmatch("(a);(b)", "a;b")
    assert match is not None
    assert match.expand(template(replacement)) == found


def rules(*entries: dict[str, Any]) -> tuple[Rule, ...]:
    return inventory_of({"prometheus": {"relabel": list(entries)}}, "default", "deck.yaml").relabel


def test_a_rule_sees_what_the_one_before_it_set_and_must_match_the_whole() -> None:
    found = rules(
        {
            "source_labels": ["namespace", "app"],
            "regex": "(.+);(.+)",
            "target_label": "endpoint",
            "replacement": "$2.$1",
        },
        {"source_labels": ["endpoint"], "regex": r"(\w+)\.prod", "target_label": "endpoint"},
        {"source_labels": ["app"], "regex": "(cha)", "target_label": "replica"},
    )
    assert relabel({"namespace": "prod", "app": "chat"}, found) == Told({"endpoint": "chat"})
    assert relabel({"namespace": "test", "app": "chat"}, found) == Told({"endpoint": "chat.test"})


def test_keep_and_drop_say_what_is_watched() -> None:
    keep = rules({"source_labels": ["team"], "regex": "a|b", "action": "keep"})
    drop = rules({"source_labels": ["team"], "regex": "a|b", "action": "drop"})
    assert [relabel({"team": team}, keep).is_dropped for team in "abc"] == [False, False, True]
    assert [relabel({"team": team}, drop).is_dropped for team in "abc"] == [True, True, False]
    assert relabel({}, keep).is_dropped  # a label that is missing is an empty one


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"regex": "(", "action": "keep"}, "is no regular expression"),
        ({"regex": "x", "target_label": "endpoint"}, "'$1' wants a group that 'x' does not have"),
        ({"target_label": "endpoint", "replacement": "${2}"}, "'${2}' wants a group"),
        ({"target_label": "endpoint", "replacement": "${pod}"}, "'${pod}' wants a group"),
        ({"target_label": "endpoint", "replacement": "${1x}"}, "'${1x}' wants a group"),
        ({"target_label": "pod"}, "target_label: this value can't be used"),
        ({"action": "keep", "target_label": "role"}, "target_label belongs to the action replace"),
        ({}, "target_label belongs to the action replace"),
        ({"action": "labeldrop"}, "action: this value can't be used"),
        ({"source_labels": [], "target_label": "role"}, "source_labels: empty, at least one entry is needed"),
    ],
)
def test_a_rule_that_can_never_work_is_refused_in_one_line_that_names_it(entry: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        rules({"source_labels": ["pod"], **entry})
    assert str(caught.value).startswith("deck.yaml: prometheus.relabel.0")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_group_may_go_by_its_name() -> None:
    named = rules(
        {"source_labels": ["pod"], "regex": "(?P<who>.+)-0", "target_label": "endpoint", "replacement": "${who}"}
    )
    assert relabel({"pod": "chat-0"}, named).values == {"endpoint": "chat"}
