"""The file of what may be changed: read strictly, with faults in one sentence."""

from __future__ import annotations

import pytest

from tierdeck.changes.allowed import Allowed, Limits, parse_allowed
from tierdeck.errors import UsageError


def test_it_says_where_what_and_how_far() -> None:
    text = """
namespaces: [inference, chat-2]
kinds: [Deployment, ConfigMap]
limits: {l0_share: 0.92, l1: 64GiB, l2: 2TiB, replicas: 8}
"""
    limits = Limits(l0_share=0.92, l1=64 * 2**30, l2=2 * 2**40, replicas=8)
    assert parse_allowed(text, "c.yaml") == Allowed(
        namespaces=("inference", "chat-2"), kinds=("Deployment", "ConfigMap"), limits=limits
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "namespaces: missing"),
        ("namespaces: []\nkinds: [Deployment]", "namespaces: empty, at least one entry is needed"),
        ("namespaces: [a]", "kinds: missing"),
        ("namespaces: inference\nkinds: [Deployment]", "namespaces: a list is needed"),
        ("namespaces: ['*']\nkinds: [Deployment]", "namespaces: '*': the name of a namespace is needed"),
        ("namespaces: [a]\nkinds: [deployments]", "kinds: 'deployments': a kind, such as Deployment, is needed"),
        ("namespaces: [a]\nkinds: [Deployment]\nlimit: {}", "limit: there is no such key"),
        ("namespaces: [a]\nkinds: [Deployment]\nlimits: {l1: much}", "limits.l1: 'much' is not a size"),
        ("namespaces: [a]\nkinds: [Deployment]\nlimits: {l0_share: 1.5}", "limits.l0_share: a number of at most 1"),
        ("namespaces: [a]\nkinds: [Deployment]\nlimits: {replicas: 0}", "limits.replicas: a number of at least 1"),
        ("namespaces: [a\n", "not YAML"),
        ("namespaces: [a]\nnamespaces: [b]\nkinds: [C]", "namespaces is given twice"),
    ],
)
def test_a_broken_file_is_told_by_its_key(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_allowed(text, "c.yaml")
    assert words in caught.value.line()
    assert caught.value.line().startswith("c.yaml: ")
