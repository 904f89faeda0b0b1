"""Targets by way of a `kubectl proxy`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.pod_proxy import pods_by_address, through_proxy
from tests.support.deployed import deployed, pod
from tierdeck.errors import UsageError
from tierdeck.fleet import FLEET, POOL, Endpoint, Replica, ReplicaKey, Target
from tierdeck.settings import load_settings

PROXY = "http://127.0.0.1:8001"
PODS = {"10.0.0.7": ("inference", "chat-0"), "fd00::7": ("inference", "chat-1")}


def replica(*urls: str, name: str = "chat-0", endpoint: str = "inference/chat") -> Replica:
    key = ReplicaKey("east", endpoint, name)
    return Replica(key, tuple(Target(key, f"vllm.{number}", url) for number, url in enumerate(urls)))


def urls(one: Replica) -> list[str]:
    return [target.url for target in one.targets]


@pytest.mark.parametrize(
    ("own", "proxied"),
    [
        ("http://10.0.0.7:8000/metrics", "pods/chat-0:8000/proxy/metrics"),
        ("http://10.0.0.7/metrics", "pods/chat-0:80/proxy/metrics"),
        ("https://10.0.0.7:8443/metrics", "pods/https:chat-0:8443/proxy/metrics"),
        ("http://10.0.0.7:9000/api/v1/overview?full=1", "pods/chat-0:9000/proxy/api/v1/overview?full=1"),
        ("http://[fd00::7]:8000/metrics", "pods/chat-1:8000/proxy/metrics"),
    ],
)
def test_a_pods_address_becomes_its_path_at_the_proxy(own: str, proxied: str) -> None:
    found = through_proxy(PROXY, PODS, replica(own))
    assert urls(found) == [f"{PROXY}/api/v1/namespaces/inference/{proxied}"]


def test_all_replicas_of_an_endpoint_and_what_they_share_are_reached() -> None:
    own = Endpoint("east", "inference/chat", (replica("http://10.0.0.7:1/metrics"),
                   replica("http://10.0.0.7:2/metrics", name=FLEET)))  # fmt: skip
    found = through_proxy(PROXY + "/", PODS, own)
    assert [url for one in found.replicas for url in urls(one)] == [
        f"{PROXY}/api/v1/namespaces/inference/pods/chat-0:{port}/proxy/metrics" for port in (1, 2)
    ]
    assert replace(found, replicas=own.replicas) == own


def test_what_is_at_no_pods_address_stays_as_it_is() -> None:
    # The last one is what was declared before, and comes again where the cluster can't be seen.
    kept = ["http://router.example:8001/metrics", "prometheus", f"{PROXY}/api/v1/namespaces/x/pods/y:1/proxy/metrics"]
    assert urls(through_proxy(PROXY, PODS, replica(*kept))) == kept


def test_without_a_proxy_nothing_changes() -> None:
    own = replica("http://10.0.0.7:8000/metrics", name="curvine/main", endpoint=POOL)
    assert through_proxy("", PODS, own) is own


def test_pods_are_known_by_the_addresses_that_they_have() -> None:
    waiting = replace(pod("chat-1"), address="")
    assert pods_by_address([deployed(pods=[pod(), waiting])]) == {"10.0.0.7": ("inference", "chat-0")}


@pytest.mark.parametrize("text", ["127.0.0.1:8001", "http://", "http://me@host", "http://host/?a=b", "ftp://host"])
def test_a_proxy_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="pod_proxy can't be used"):
        load_settings(pod_proxy=text)
