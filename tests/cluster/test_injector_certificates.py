"""Certificates of the webhook in one Secret of a real API server: replicas agree on them, and renew without a gap."""

from __future__ import annotations

import base64
import time

import pytest

from controller.api.client import Api
from controller.api.errors import NotServedError
from controller.injector.keeper import Order, Place, Shared
from tests.support.cluster import Cluster
from tests.support.kube_rest import Manifest, Rest

ADMISSION = "admissionregistration.k8s.io/v1"
KIND = "MutatingWebhookConfiguration"


def webhook(name: str) -> Manifest:
    """One that no pod ever comes by."""
    hook = {
        "name": "l2.tierdeck.io",
        "clientConfig": {"url": "https://127.0.0.1:1/mutate"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "namespaceSelector": {"matchLabels": {"tests/none": "true"}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    second = {**hook, "name": "second.tierdeck.io"}
    return {"apiVersion": ADMISSION, "kind": KIND, "metadata": {"name": name}, "webhooks": [hook, second]}


def trusted(rest: Rest, name: str) -> set[str]:
    """The bundles of all its webhooks, in PEM."""
    hooks = rest.get(KIND, name, api=ADMISSION)["webhooks"]
    return {base64.b64decode(hook["clientConfig"].get("caBundle", "")).decode("ascii") for hook in hooks}


def test_replicas_share_one_certificate_and_renew_it_without_a_gap(
    cluster: Cluster, rest: Rest, namespace: str
) -> None:
    # 300 s good: its successor comes after 200 s, and is served 30 s later
    times = {"now": time.time()}
    api, place, order = Api.of(cluster.client()), Place(f"{namespace}/kept", namespace), Order(("127.0.0.1",), 300.0)
    one, other = (Shared(api, place, order, lambda: times["now"]) for _ in range(2))
    with pytest.raises(NotServedError):
        one.look()
    rest.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept", "namespace": namespace}})
    rest.create(webhook(namespace))
    try:
        first = one.look()
        assert first is not None
        assert other.look() == first
        assert trusted(rest, namespace) == {first.authority}
        times["now"] += 201
        assert (other.look(), one.look()) == (first, first)
        (both,) = trusted(rest, namespace)
        assert both.startswith(first.authority)
        assert both.count("BEGIN CERTIFICATE") == 2
        times["now"] += 31
        second = one.look()
        assert second is not None
        assert other.look() == second != first
        assert trusted(rest, namespace) == {both}
        assert both == first.authority + second.authority
        times["now"] += 69  # 301: the first has ended
        one.look()
        assert trusted(rest, namespace) == {second.authority}
    finally:
        rest.delete(webhook(namespace))
