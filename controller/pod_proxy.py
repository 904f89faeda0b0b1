"""Targets by way of the Kubernetes API: for a machine that pod addresses don't reach, such as a laptop.

`kubectl proxy` serves `/api/v1/namespaces/NAMESPACE/pods/SCHEME:NAME:PORT/proxy/PATH` on loopback, with the rights of
whoever runs it; it takes `get` on `pods/proxy`. Source: Kubernetes, "Manually constructing apiserver proxy URLs".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

from tierdeck.deployed import Deployed
from tierdeck.fleet import Endpoint, Replica, Target

Observed = TypeVar("Observed", Endpoint, Replica)
_PORTS = {"http": 80, "https": 443}


def pods_by_address(deployed: Iterable[Deployed]) -> dict[str, tuple[str, str]]:
    """Namespace and name of the pod at an address; of pods that share their node's address, any one reaches all."""
    return {pod.address: (pod.namespace, pod.name) for one in deployed for pod in one.pods if pod.address}


def through_proxy(proxy: str, pods: Mapping[str, tuple[str, str]], observed: Observed) -> Observed:
    """What is observed, with the addresses of its targets behind the proxy.

    Args:
        proxy: such as `http://127.0.0.1:8001`; empty: nothing changes.
        pods: as `pods_by_address` gives them; a target at no pod's address keeps its own.
    """
    if not proxy:
        return observed
    if isinstance(observed, Endpoint):
        return replace(observed, replicas=tuple(through_proxy(proxy, pods, one) for one in observed.replicas))
    return replace(observed, targets=tuple(_through(proxy, pods, target) for target in observed.targets))


def _through(proxy: str, pods: Mapping[str, tuple[str, str]], target: Target) -> Target:
    return replace(target, url=proxied(proxy, pods, target.url))


def proxied(proxy: str, pods: Mapping[str, tuple[str, str]], url: str) -> str:
    """An address behind the proxy; as it is without a proxy, or where it is no pod's.

    What is sent there takes the right that its method asks for: `get` to read, `create` to POST.
    """
    parts = urlsplit(url)
    pod = pods.get(parts.hostname or "") if proxy else None
    if pod is None or parts.scheme not in _PORTS:
        return url
    namespace, name = pod
    scheme = "" if parts.scheme == "http" else f"{parts.scheme}:"
    port = parts.port or _PORTS[parts.scheme]
    query = f"?{parts.query}" if parts.query else ""
    place = f"/api/v1/namespaces/{namespace}/pods/{scheme}{name}:{port}/proxy"
    return f"{proxy.rstrip('/')}{place}{parts.path}{query}"
